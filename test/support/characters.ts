// Texts of any characters whatever. What fast-check calls `unit: 'binary'` makes a table of all million characters before its first text, which
// takes half a second and a hundred megabytes in every file that uses it.
import fc from 'fast-check'

const surrogates = { first: 0xd800, count: 0x800 }

export const anyCharacter = fc
  .integer({ min: 0, max: 0x10ffff - surrogates.count })
  .map((index) => String.fromCodePoint(index < surrogates.first ? index : index + surrogates.count))
