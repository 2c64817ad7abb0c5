// Text of any code points at all, halves of characters among them. The odd ones are more frequent than chance would have them.
import fc from 'fast-check'

const point = fc.oneof(
  fc.integer({ min: 0, max: 0x7f }),
  fc.integer({ min: 0x80, max: 0x2fff }),
  fc.integer({ min: 0xd800, max: 0xdfff }),
  fc.integer({ min: 0, max: 0x10ffff }),
)

export const anyText = (maxLength: number) =>
  fc.array(point, { maxLength }).map((points) => points.map((code) => String.fromCodePoint(code)).join(''))
