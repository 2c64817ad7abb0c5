// The warning on a comment whose answer is stale: one line below the comment's own marker. It is added, replaced and removed without changes to
// the rest of the body.
import { stalePattern, writeStaleMarker } from '../answers/comment-marker.js'

function splitMarker(body: string): { marker: string; rest: string } {
  const end = body.indexOf('\n') + 1
  return { marker: body.slice(0, end), rest: body.slice(end) }
}

/** The head commit of the warning, if the comment has one. */
export function readStaleHead(body: string): string | undefined {
  return stalePattern.exec(splitMarker(body).rest)?.[1]
}

/** The body with this warning in place of any earlier one, or without a warning. `words` are one line of safe Markdown. */
export function setStaleWarning(body: string, stale: { head: string; words: string } | undefined): string {
  const { marker, rest } = splitMarker(body)
  const text = rest.replace(stalePattern, '')
  if (!stale) return `${marker}${text}`
  const words = stale.words.replaceAll('\n', ' ')
  return `${marker}${writeStaleMarker(stale.head)}\n⚠️ **Some of what this answer rests on is gone.** ${words}\n\n${text}`
}

/** The run and the answer that the comment shows. The last rows count, because the model may have written earlier ones. */
export function readShownAnswer(body: string): { run: string; answer: string } | undefined {
  const run = [...body.matchAll(/^\| Run \| `([0-9a-f]{40}-[a-z0-9][a-z0-9-]{0,63})` \|$/gm)].at(-1)?.[1]
  const answer = [...body.matchAll(/^\| Answer \| `([0-9a-f]{32})` \|$/gm)].at(-1)?.[1]
  return run === undefined || answer === undefined ? undefined : { run, answer }
}
