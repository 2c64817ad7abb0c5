// The shares of the budget as text: whole, the beginning, the lines of the definitions, or one line. Credentials are taken out of the whole
// file before anything is cut from it, and what comes out is measured again: it can be longer than what went in.
import { redactSecrets } from '../../../domain/secrets/redact-file.js'
import type { ChosenText, Definition, SecretPlace } from '../../../domain/survey.js'
import type { Share } from './allocate-budget.js'
import type { AnalysisTable } from './analysis-table.js'
import { shownText, textBytes } from './decode-text.js'
import type { BlobReader } from './git-objects.js'
import type { Entry } from './git-tree.js'

export interface Pieces {
  texts: ChosenText[]
  /** Of the files that were looked at again. */
  secrets: Map<Entry, Pick<SecretPlace, 'line' | 'rule'>[]>
}

export async function writePieces(
  shares: readonly Share[],
  analyses: AnalysisTable,
  budget: number,
  reader: BlobReader,
): Promise<Pieces> {
  const pieces: Pieces = { texts: [], secrets: new Map() }
  const made = new Map<Share, Pick<ChosenText, 'form' | 'from' | 'text'>>()
  let spare = budget - shares.reduce((sum, { bytes }) => sum + bytes, 0)
  const take = (share: Share, text: Pick<ChosenText, 'form' | 'from' | 'text'>) => {
    made.set(share, text)
    spare += share.bytes - Buffer.byteLength(text.text) - Buffer.byteLength(share.entry.path)
  }

  const toRead = shares.filter(({ form }) => form !== 'line')
  for (const share of shares) if (share.form === 'line') take(share, oneLine(share, analyses))
  await reader.read(
    toRead.map(({ entry }) => entry.blob),
    (index, bytes) => {
      const share = toRead[index]!
      const whole = bytes && textBytes(bytes)
      if (!whole) return
      // Of a file that is shown by its beginning the rest need not be made plain first.
      const content = share.form === 'head' ? whole.subarray(0, share.bytes * 2 + 1_000) : whole
      const isWhole = content.length === whole.length
      const text = plainText(share.entry, content, isWhole, analyses, pieces)
      const room = share.bytes + spare - Buffer.byteLength(share.entry.path)
      take(share, cutTo(share, text, isWhole, analyses, room))
    },
  )

  for (const share of shares) {
    const piece = made.get(share)
    if (!piece || piece.text === '') continue
    const { path, blob, kind } = share.entry
    share.entry.state = piece.form === 'full' ? 'read' : 'cut'
    pieces.texts.push({ path, blob, kind, ...piece, rank: pieces.texts.length })
  }
  return pieces
}

/** The text without credentials. A file that is known to be clean is not scanned again. */
function plainText(entry: Entry, content: Buffer, isWhole: boolean, analyses: AnalysisTable, pieces: Pieces): string {
  const record = analyses.records[entry.record]!
  const shown = shownText(content)
  if (record.clean) return shown
  const { text, places } = redactSecrets(shown)
  if (isWhole) record.clean = places.length === 0
  if (isWhole && places.length > 0) pieces.secrets.set(entry, places)
  return text
}

function oneLine({ entry }: Share, analyses: AnalysisTable): Pick<ChosenText, 'form' | 'from' | 'text'> {
  const { telling } = analyses.records[entry.record]!
  return { form: 'line', from: Math.max(1, telling.line), text: telling.text }
}

function cutTo(
  share: Share,
  text: string,
  isWhole: boolean,
  analyses: AnalysisTable,
  room: number,
): Pick<ChosenText, 'form' | 'from' | 'text'> {
  const allowed = Math.max(0, share.form === 'full' ? room : Math.min(room, share.bytes))
  if (share.form === 'signatures') {
    const definitions = JSON.parse(analyses.records[share.entry.record]!.outline) as Definition[]
    return { form: 'signatures', from: 1, text: signatures(text, definitions, allowed) }
  }
  const cut = beginning(text, allowed)
  return { form: isWhole && cut.length === text.length ? 'full' : 'head', from: 1, text: cut }
}

/** Up to a number of bytes, to the end of a line where there is one near. */
export function beginning(text: string, bytes: number): string {
  const whole = Buffer.from(text)
  if (whole.length <= bytes) return text
  let end = bytes
  while (end > 0 && (whole[end]! & 0xc0) === 0x80) end--
  const lineEnd = whole.subarray(0, end).lastIndexOf(10)
  return whole.toString('utf8', 0, lineEnd > end / 2 ? lineEnd + 1 : end)
}

/** The lines of the definitions with their numbers: those furthest out first, as many as there is room for, in the order of the file. */
export function signatures(text: string, definitions: readonly Definition[], bytes: number): string {
  const lines = text.split('\n')
  const shown = [...new Set(definitions.map(({ line }) => line))]
    .map((line) => ({ line, text: (lines[line - 1] ?? '').trimEnd().slice(0, 200).toWellFormed() }))
    .map((item) => ({ ...item, depth: /^\s*/.exec(item.text)![0].length, out: `${item.line}| ${item.text}\n` }))
  const kept: typeof shown = []
  let room = bytes
  for (const item of shown.sort((a, b) => a.depth - b.depth || a.line - b.line)) {
    const size = Buffer.byteLength(item.out)
    if (size > room) break
    room -= size
    kept.push(item)
  }
  return kept
    .sort((a, b) => a.line - b.line)
    .map(({ out }) => out)
    .join('')
}
