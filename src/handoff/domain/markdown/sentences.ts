// Splits a paragraph into sentences.

const shortForms = /(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|approx|resp|incl|No|Nr|p|pp|[A-Z])\.$/

/** The sentences of a paragraph, each with the space after it. A full stop in a code span or after an abbreviation ends none. */
export function sentencesOf(text: string): string[] {
  const masked = text.replace(/`[^`]*`/g, (span) => 'X'.repeat(span.length))
  const sentences: string[] = []
  let start = 0
  for (const match of masked.matchAll(
    /(?:[.!?][)"'\]*_”’]*(?:\s+)(?=[^\s\p{Ll}]|\p{Ll}[^\s]*[/.][^\s]))|[。！？]\s*/gu,
  )) {
    if (shortForms.test(masked.slice(start, match.index + 1))) continue
    const end = match.index + match[0].length
    sentences.push(text.slice(start, end))
    start = end
  }
  if (start < text.length) sentences.push(text.slice(start))
  return sentences
}
