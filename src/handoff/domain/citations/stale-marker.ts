// The mark on an answer's comment whose evidence is gone: one line below the comment's own marker, put there, replaced and taken away without
// touching the rest.

const mark = /^<!-- handoff:stale v=1 head=([0-9a-f]{40}) -->\n[^\n]*\n\n/

function parts(body: string): { marker: string; rest: string } {
  const end = body.indexOf('\n') + 1
  return { marker: body.slice(0, end), rest: body.slice(end) }
}

/** For which head it was marked. */
export function staleHead(body: string): string | undefined {
  return mark.exec(parts(body).rest)?.[1]
}

/** The body with this mark and no other; with none when it is absent. `words` are one line of safe Markdown. */
export function markedBody(body: string, stale: { head: string; words: string } | undefined): string {
  const { marker, rest } = parts(body)
  const text = rest.replace(mark, '')
  if (!stale) return `${marker}${text}`
  const words = stale.words.replaceAll('\n', ' ')
  return `${marker}<!-- handoff:stale v=1 head=${stale.head} -->\n⚠️ **Some of what this answer rests on is gone.** ${words}\n\n${text}`
}

/** Which run and which answer our comment says it shows: its last words on that, because what stands before may be the model's. */
export function answerOf(body: string): { run: string; answer: string } | undefined {
  const run = [...body.matchAll(/^\| Run \| `([0-9a-f]{40}-[a-z0-9][a-z0-9-]{0,63})` \|$/gm)].at(-1)?.[1]
  const answer = [...body.matchAll(/^\| Answer \| `([0-9a-f]{32})` \|$/gm)].at(-1)?.[1]
  return run === undefined || answer === undefined ? undefined : { run, answer }
}
