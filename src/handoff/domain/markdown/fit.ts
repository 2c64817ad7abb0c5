// Keeps a text under a limit in bytes, as GitHub has for job summaries: over it the whole summary is thrown away, not only its end.
import { splitComment } from './split.js'

/** The limit is 1,048,576 for one step. */
const summaryBytes = 1_000_000

export function fitMarkdown(
  markdown: string,
  bytes = summaryBytes,
  note = 'The rest was too long to be shown here.',
): string {
  const encoder = new TextEncoder()
  if (encoder.encode(markdown).length <= bytes) return markdown
  let room = bytes - encoder.encode(note).length - 4
  const kept: string[] = []
  for (const part of splitComment(markdown, Math.min(10_000, Math.max(300, Math.floor(bytes / 8))))) {
    room -= encoder.encode(part).length + 2
    if (room < 0) break
    kept.push(part)
  }
  return `${[...kept, note].join('\n\n')}\n`
}
