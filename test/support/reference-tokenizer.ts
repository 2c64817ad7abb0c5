// A tokenizer for o200k as its inventors describe it, written to be read and not to be fast: cut the text into pieces by one expression,
// then in each piece join the pair of neighbours that comes first in the vocabulary, again and again. It holds the fast one honest.
import { fromBytes } from 'hypertok'
import { findTokenFiles } from '../../src/handoff/clients/count-tokens.js'

const upper = String.raw`\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}`
const lower = String.raw`\p{Ll}\p{Lm}\p{Lo}\p{M}`
// White space as Unicode has it, which is not quite what `\s` means here.
const blank = String.raw`\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000`
const ending = `(?:'(?:[sS]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD]))?`
const pieces = new RegExp(
  [
    String.raw`[^\r\n\p{L}\p{N}]?[${upper}]*[${lower}]+${ending}`,
    String.raw`[^\r\n\p{L}\p{N}]?[${upper}]+[${lower}]*${ending}`,
    String.raw`\p{N}{1,3}`,
    String.raw` ?[^${blank}\p{L}\p{N}]+[\r\n/]*`,
    String.raw`[${blank}]*[\r\n]+`,
    `[${blank}]+(?![^${blank}])`,
    `[${blank}]+`,
  ].join('|'),
  'gu',
)

export async function makeReference(): Promise<(text: string) => number> {
  const { wasm, vocabulary } = await findTokenFiles()
  const tokenizer = await fromBytes(vocabulary, { tier: 'single', moduleSource: new Uint8Array(wasm) })
  const ranks = new Map<string, number>()
  for (let id = 0; id < 199_998; id += 1) ranks.set(Buffer.from(tokenizer.tokenBytes(id)).toString('latin1'), id)
  return (text) => (text.toWellFormed().match(pieces) ?? []).reduce((sum, piece) => sum + joined(piece, ranks), 0)
}

function joined(piece: string, ranks: Map<string, number>): number {
  const parts = [...Buffer.from(piece).toString('latin1')]
  for (;;) {
    let best = -1
    let bestRank = Number.POSITIVE_INFINITY
    for (let index = 0; index + 1 < parts.length; index += 1) {
      const rank = ranks.get(parts[index]! + parts[index + 1]!) ?? Number.POSITIVE_INFINITY
      if (rank < bestRank) [best, bestRank] = [index, rank]
    }
    if (best < 0) return parts.length
    parts.splice(best, 2, parts[best]! + parts[best + 1]!)
  }
}
