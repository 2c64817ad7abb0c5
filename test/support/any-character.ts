// Texts of any characters whatever. What fast-check calls `unit: 'binary'` makes a table of all million characters before its first text, which
// takes half a second and a hundred megabytes in every file that uses it.
import fc from 'fast-check'

const surrogates = { first: 0xd800, count: 0x800 }

/** The way back lets fast-check put its dangerous words (`__proto__` and the like) into what is made of these. */
export const anyCharacter = fc.integer({ min: 0, max: 0x10ffff - surrogates.count }).map(characterAt, indexOf)

function characterAt(index: number): string {
  return String.fromCodePoint(index < surrogates.first ? index : index + surrogates.count)
}

function indexOf(value: unknown): number {
  const code = typeof value === 'string' ? value.codePointAt(0) : undefined
  if (code === undefined || value !== String.fromCodePoint(code)) throw new Error('That is not one character.')
  return code < surrogates.first ? code : code - surrogates.count
}
