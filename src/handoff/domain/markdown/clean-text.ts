// Text that shows what it says: one kind of line end, nothing invisible, nothing that turns the direction of reading, no broken halves.
//
// The price is small and known: joiners go too, so a family emoji comes apart into its members and some Persian and Indic words lose a
// ligature. Keeping them would keep a hiding place for words that a model reads and a person does not see.

const otherLineEnds = /[\u000b\u000c\u0085\u2028\u2029]/g
const controls = /[\u0000-\u0008\u000e-\u001f\u007f-\u009f]/g
/** Format characters and all that is drawn as nothing; the emoji variation selector stays, because it changes what is seen. */
const invisible = /(?!\ufe0f)[\p{Cf}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]/gu

export const withoutInvisible = (text: string): string => text.replace(invisible, '')
const repeatedSelectors = /\ufe0f{2,}/g
/** Marks stacked on one letter cover the lines above and below it. */
const stackedMarks = /(\p{M}{6})\p{M}+/gu

/** Most text is, and then there is nothing to look for. */
const plain = /^[\t\n\x20-\x7e]*$/

export function cleanText(text: string): string {
  if (plain.test(text)) return text
  return text
    .toWellFormed()
    .replace(/\r\n?/g, '\n')
    .replace(otherLineEnds, ' ')
    .replace(controls, '')
    .replace(invisible, '')
    .replace(repeatedSelectors, '\ufe0f')
    .replace(stackedMarks, '$1')
}

/** The same, on one line. */
export function cleanLine(text: string): string {
  return cleanText(text).replace(/[\n\t]/g, ' ')
}

/** The first so many characters, never half of one. */
export function cutText(text: string, limit: number): string {
  if (text.length <= limit) return text
  const half = text.charCodeAt(limit - 1)
  return text.slice(0, half >= 0xd800 && half < 0xdc00 ? limit - 1 : limit)
}
