// Cards of the first files, from which a model chooses where the ranking is unsure: path, definitions, one sentence.
import type { Card } from '../../../domain/sandbox-protocol-decoder.js'
import { redactedLines } from '../../../domain/source-lines.js'
import { textOfLine } from './code-regions.js'
import type { RankedFile } from './rank-regions.js'
import { sizes, weights } from './ranking-weights.js'

/** Cards, where the first file does not lead clearly; none where all candidates are shown anyway. */
export function cardsOf(files: readonly RankedFile[]): Card[] {
  const [first, second] = files
  if (!first || !second || files.length <= sizes.shownFiles || first.rank - second.rank > weights.clearLead) return []
  return files.slice(0, sizes.cards).map(cardOf)
}

const most = { names: 8, name: 40, sentence: 100 }

function cardOf({ file, structure, regions }: RankedFile): Card {
  const best = regions.flatMap(({ definition }) => definition?.name ?? [])
  const names = [...new Set([...best, ...structure.definitions.map(({ name }) => name)])]
  return {
    path: file.path,
    names: names.slice(0, most.names).map((name) => name.slice(0, most.name)),
    says: firstSentence(Array.from({ length: 30 }, (_, at) => textOfLine(structure, at + 1))),
  }
}

/** What the file says of itself: the first words of a comment, a document string or a heading. */
function firstSentence(lines: readonly string[]): string {
  const [said = ''] = redactedLines(Buffer.from(lines.join('\n'), 'latin1')).flatMap((line) => {
    const words = /^\s{0,20}(?:\/\/+!?|\/?\*{1,3}|#{1,6}|"""|'''|;;|<!--)\s{0,20}(\p{L}.*)/u.exec(
      line.slice(0, 300),
    )?.[1]
    return words && words.length > 15 && !/copyright|licen[cs]e|SPDX|eslint|coding[:=]/i.test(words) ? [words] : []
  })
  return said.slice(0, most.sentence)
}
