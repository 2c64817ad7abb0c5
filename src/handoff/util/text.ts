// Trims a text by plain string code. The expression `/[…]+$/` takes quadratic time where many such characters do not stand at the end.

export function trimEndOf(text: string, isTrimmed: (character: string) => boolean): string {
  let end = text.length
  while (end > 0 && isTrimmed(text[end - 1]!)) end--
  return text.slice(0, end)
}

export const withoutTrailingSlashes = (text: string): string => trimEndOf(text, (character) => character === '/')

/** Compares ids and ISO times by code units. `localeCompare` gives the same order for these and takes milliseconds to load. */
export function compareText(one: string, other: string): number {
  if (one === other) return 0
  return one < other ? -1 : 1
}
