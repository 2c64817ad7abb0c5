// Three simple searches to compare with: git grep for the question's words, BM25 over pieces of 60 lines, and SQLite's full-text index.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { splitLines } from '../handoff/domain/source-lines.js'
import { type GitCorpus, openCorpus } from '../handoff/sandbox/program/search/corpus.js'
import { splitIdentifier, stem } from '../handoff/sandbox/program/search/tokenize.js'
import type { Place } from './search-quality-types.js'

const execute = promisify(execFile)
const chunkLines = 60

interface Chunk extends Place {
  text: string
}

export interface Baselines {
  /** Best place first, without a limit. */
  grep(question: string): Promise<Place[]>
  chunks(question: string): Place[]
  /** Undefined where this Node has no SQLite with full-text search. */
  fullText: ((question: string) => Place[]) | undefined
  lineOf(place: Place): string[]
}

/** Reads the commit once for all questions about it. */
export async function openBaselines(gitDirectory: string, commit: string): Promise<Baselines> {
  const corpus = await openCorpus(gitDirectory, commit)
  const { chunks, lines } = await readChunks(corpus)
  return {
    grep: (question) => grep(gitDirectory, commit, question, new Set(lines.keys())),
    chunks: bm25(chunks),
    fullText: await openFullText(chunks),
    lineOf: ({ path, from, to }) => (lines.get(path) ?? []).slice(from - 1, to),
  }
}

async function readChunks(corpus: GitCorpus): Promise<{ chunks: Chunk[]; lines: Map<string, string[]> }> {
  const chunks: Chunk[] = []
  const lines = new Map<string, string[]>()
  await corpus.readAll(({ path, size }, bytes) => {
    if (bytes.indexOf(0) < Math.min(size, 8_000)) return
    const text = splitLines(bytes.subarray(0, size).toString('utf8'))
    lines.set(path, text)
    for (let from = 1; from <= text.length; from += chunkLines) {
      const to = Math.min(text.length, from + chunkLines - 1)
      chunks.push({ path, from, to, text: text.slice(from - 1, to).join('\n') })
    }
  })
  return { chunks, lines }
}

const wordsOf = (text: string) => splitIdentifier(text).map(stem)

/** The question's words that a person would type, the longest first. */
function grepWords(question: string): string[] {
  const words = new Set((question.match(/[A-Za-z_]\w{3,60}/g) ?? []).map((word) => word.toLowerCase()))
  return [...words].sort((a, b) => b.length - a.length).slice(0, 12)
}

/** Files by how rare the words are that they contain; ten lines around each match. */
async function grep(
  gitDirectory: string,
  commit: string,
  question: string,
  known: ReadonlySet<string>,
): Promise<Place[]> {
  const words = grepWords(question)
  if (words.length === 0) return []
  const patterns = words.flatMap((word) => ['-e', word])
  const { stdout } = await execute('git', ['-C', gitDirectory, 'grep', '-n', '-i', '-I', '-F', ...patterns, commit], {
    maxBuffer: 1 << 29,
  }).catch((error: { stdout?: string }) => ({ stdout: error.stdout ?? '' }))
  const matches = new Map<string, { words: Set<string>; lines: number[] }>()
  for (const row of stdout.split('\n')) {
    const [, path = '', line = '', text = ''] = /^[^:]*:(.*?):(\d+):(.*)$/.exec(row) ?? []
    if (!known.has(path)) continue
    const match = matches.get(path) ?? { words: new Set<string>(), lines: [] }
    matches.set(path, match)
    match.lines.push(Number(line))
    const lower = text.toLowerCase()
    for (const word of words) if (lower.includes(word)) match.words.add(word)
  }
  const count = (word: string) => [...matches.values()].filter((match) => match.words.has(word)).length
  const rarity = new Map(words.map((word) => [word, Math.log(1 + known.size / (1 + count(word)))]))
  const score = (found: Set<string>) => [...found].reduce((sum, word) => sum + rarity.get(word)!, 0)
  return [...matches]
    .sort(([, a], [, b]) => score(b.words) - score(a.words))
    .slice(0, 100)
    .flatMap(([path, { lines }]) =>
      lines.slice(0, 20).map((line) => ({ path, from: Math.max(1, line - 10), to: line + 10 })),
    )
}

function bm25(chunks: readonly Chunk[]): (question: string) => Place[] {
  const postings = new Map<string, Map<number, number>>()
  const lengths = chunks.map(({ path, text }, index) => {
    const words = wordsOf(`${path}\n${text}`)
    for (const word of words) {
      const found = postings.get(word) ?? new Map<number, number>()
      postings.set(word, found)
      found.set(index, (found.get(index) ?? 0) + 1)
    }
    return words.length
  })
  const average = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, lengths.length)
  return (question) => {
    const scores = new Float64Array(chunks.length)
    for (const word of new Set(wordsOf(question))) {
      const found = postings.get(word)
      if (!found) continue
      const rarity = Math.log(1 + (chunks.length - found.size + 0.5) / (found.size + 0.5))
      for (const [index, times] of found) {
        scores[index]! += (rarity * times * 2.2) / (times + 1.2 * (0.25 + (0.75 * lengths[index]!) / average))
      }
    }
    const order = chunks.map((_, index) => index).filter((index) => scores[index]! > 0)
    return order
      .sort((a, b) => scores[b]! - scores[a]!)
      .slice(0, 300)
      .map((index) => placeOf(chunks[index]!))
  }
}

const placeOf = ({ path, from, to }: Place): Place => ({ path, from, to })

async function openFullText(chunks: readonly Chunk[]): Promise<Baselines['fullText']> {
  const database = await import('node:sqlite')
    .then(({ DatabaseSync }) => new DatabaseSync(':memory:'))
    .catch(() => undefined)
  if (!database) return undefined
  try {
    database.exec("CREATE VIRTUAL TABLE pieces USING fts5(path, names, body, tokenize = 'porter unicode61')")
  } catch {
    return undefined
  }
  const insert = database.prepare('INSERT INTO pieces(rowid, path, names, body) VALUES (?, ?, ?, ?)')
  database.exec('BEGIN')
  for (const [index, { path, text }] of chunks.entries()) {
    const names = text.match(/\b(?:def|class|function|func|fn|struct|interface|type|const)\s+\w+/g) ?? []
    insert.run(
      index + 1,
      splitIdentifier(path).join(' '),
      splitIdentifier(names.join(' ')).join(' '),
      `${text} ${splitIdentifier(text).join(' ')}`,
    )
  }
  database.exec('COMMIT')
  const select = database.prepare(
    'SELECT rowid FROM pieces WHERE pieces MATCH ? ORDER BY bm25(pieces, 3, 3, 1) LIMIT 300',
  )
  return (question) => {
    const words = [...new Set(splitIdentifier(question).filter((word) => word.length > 2))].slice(0, 100)
    if (words.length === 0) return []
    const rows = select.all(words.map((word) => `"${word}"`).join(' OR ')) as { rowid: number }[]
    return rows.map(({ rowid }) => placeOf(chunks[rowid - 1]!))
  }
}
