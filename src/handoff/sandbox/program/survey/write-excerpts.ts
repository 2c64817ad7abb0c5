// Turns allocations into text: the whole file, its beginning, the lines of its definitions, or one line. Credentials are removed from the whole file
// before it is cut. The result is measured again, because redaction can make it longer.
import { redactSecrets } from '../../../domain/secrets/redact-file.js'
import type { ChosenText, Definition, SecretPlace } from '../../../domain/survey.js'
import type { Allocation } from './allocate-budget.js'
import type { AnalysisTable } from './analysis-table.js'
import { decodeText, sanitizeText } from './decode-text.js'
import type { BlobReader } from './git-objects.js'
import type { Entry } from './git-tree.js'

export interface WrittenExcerpts {
  texts: ChosenText[]
  /** Credentials in the files that were read again. */
  secrets: Map<Entry, Pick<SecretPlace, 'line' | 'rule'>[]>
}

export async function writeExcerpts(
  allocations: readonly Allocation[],
  analyses: AnalysisTable,
  budget: number,
  reader: BlobReader,
): Promise<WrittenExcerpts> {
  const written: WrittenExcerpts = { texts: [], secrets: new Map() }
  const excerpts = new Map<Allocation, Pick<ChosenText, 'form' | 'from' | 'text'>>()
  let unused = budget - allocations.reduce((sum, { bytes }) => sum + bytes, 0)
  const addExcerpt = (allocation: Allocation, text: Pick<ChosenText, 'form' | 'from' | 'text'>) => {
    excerpts.set(allocation, text)
    unused += allocation.bytes - Buffer.byteLength(text.text) - Buffer.byteLength(allocation.entry.path)
  }

  const toRead = allocations.filter(({ form }) => form !== 'line')
  for (const allocation of allocations)
    if (allocation.form === 'line') addExcerpt(allocation, headlineExcerpt(allocation, analyses))
  await reader.read(
    toRead.map(({ entry }) => entry.blob),
    (index, bytes) => {
      const allocation = toRead[index]!
      const whole = bytes && decodeText(bytes)
      if (!whole) return
      // For a beginning, the rest of the file need not be redacted.
      const content = allocation.form === 'head' ? whole.subarray(0, allocation.bytes * 2 + 1_000) : whole
      const isWhole = content.length === whole.length
      const text = redactText(allocation.entry, content, isWhole, analyses, written)
      const room = allocation.bytes + unused - Buffer.byteLength(allocation.entry.path)
      addExcerpt(allocation, cutExcerpt(allocation, text, isWhole, analyses, room))
    },
  )

  for (const allocation of allocations) {
    const excerpt = excerpts.get(allocation)
    if (!excerpt || excerpt.text === '') continue
    const { path, blob, kind } = allocation.entry
    allocation.entry.state = excerpt.form === 'full' ? 'read' : 'cut'
    written.texts.push({ path, blob, kind, ...excerpt, rank: written.texts.length })
  }
  return written
}

/** The text without credentials. A file that is known to be clean is not scanned again. */
function redactText(
  entry: Entry,
  content: Buffer,
  isWhole: boolean,
  analyses: AnalysisTable,
  written: WrittenExcerpts,
): string {
  const record = analyses.records[entry.analysis]!
  const shown = sanitizeText(content)
  if (record.clean) return shown
  const { text, places } = redactSecrets(shown)
  if (isWhole) record.clean = places.length === 0
  if (isWhole && places.length > 0) written.secrets.set(entry, places)
  return text
}

function headlineExcerpt({ entry }: Allocation, analyses: AnalysisTable): Pick<ChosenText, 'form' | 'from' | 'text'> {
  const { headline } = analyses.records[entry.analysis]!
  return { form: 'line', from: Math.max(1, headline.line), text: headline.text }
}

function cutExcerpt(
  allocation: Allocation,
  text: string,
  isWhole: boolean,
  analyses: AnalysisTable,
  room: number,
): Pick<ChosenText, 'form' | 'from' | 'text'> {
  const allowed = Math.max(0, allocation.form === 'full' ? room : Math.min(room, allocation.bytes))
  if (allocation.form === 'signatures') {
    const definitions = JSON.parse(analyses.records[allocation.entry.analysis]!.outline) as Definition[]
    return { form: 'signatures', from: 1, text: signatureLines(text, definitions, allowed) }
  }
  const cut = cutToBytes(text, allowed)
  return { form: isWhole && cut.length === text.length ? 'full' : 'head', from: 1, text: cut }
}

/** Cuts text to a number of bytes, at a line end if one is near. */
function cutToBytes(text: string, bytes: number): string {
  const whole = Buffer.from(text)
  if (whole.length <= bytes) return text
  let end = bytes
  while (end > 0 && (whole[end]! & 0xc0) === 0x80) end--
  const lineEnd = whole.subarray(0, end).lastIndexOf(10)
  return whole.toString('utf8', 0, lineEnd > end / 2 ? lineEnd + 1 : end)
}

/** Numbered lines of the definitions: outermost first as far as they fit, then in the order of the file. */
function signatureLines(text: string, definitions: readonly Definition[], bytes: number): string {
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
