// Repositories as object literals, surveys of them as the sandbox would print them, and a model that says what it is scripted to say.
import { createHash } from 'node:crypto'
import type { Model, ModelReply, ModelRequest } from '../../../../src/handoff/domain/ports.js'
import type { RunEvent } from '../../../../src/handoff/domain/run-events.js'
import type { CitedFile } from '../../../../src/handoff/domain/sandbox-protocol.js'
import type { Relocation } from '../../../../src/handoff/domain/sandbox-protocol-decoder.js'
import { decodeNotes, encodeNotes } from '../../../../src/handoff/domain/summary/notes.js'
import { renderSummary, sectionsMarkdown } from '../../../../src/handoff/domain/summary/render-summary.js'
import {
  decodeSummaryRecord,
  encodeSummaryRecord,
  type SummaryRecord,
  statementsOf,
} from '../../../../src/handoff/domain/summary/summary-record.js'
import type { ChosenText, FileKind, FileTable, Survey } from '../../../../src/handoff/domain/survey.js'
import type { BlobReader } from '../../../../src/handoff/sandbox/program/survey/git-objects.js'
import type { Entry } from '../../../../src/handoff/sandbox/program/survey/git-tree.js'
import { relocate } from '../../../../src/handoff/sandbox/program/survey/relocate.js'
import type { PreviousSummary, SummaryInput } from '../../../../src/handoff/workflows/summarise/types.js'
import type { WrittenSummary } from '../../../../src/handoff/workflows/summarise/write-summary.js'

export type Files = Record<string, string>

const hash = (kind: string, content: string) => createHash('sha1').update(`${kind} ${content}`).digest('hex')
export const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

export interface SurveyOptions {
  /** In the commit, not read. */
  skipped?: Files
  /** In the commit and readable, but not chosen this time. */
  unchosen?: string[]
  form?: (path: string) => ChosenText['form']
}

export function kindOf(path: string): FileKind {
  if (/\.md$/.test(path)) return 'documentation'
  if (/(^|\/)test\//.test(path)) return 'test'
  if (/\.(json|yml|toml)$/.test(path)) return 'configuration'
  return 'source'
}

export function surveyOf(files: Files, options: SurveyOptions = {}): { survey: Survey; table: FileTable } {
  const { skipped = {}, unchosen = [], form = () => 'full' as const } = options
  const all = { ...files, ...skipped }
  const paths = Object.keys(all).sort()
  const blobs = new Map(paths.map((path) => [path, hash('blob', all[path]!)]))
  const trees = treesOf(paths, blobs)
  const commit = hash('commit', trees['']!)
  const chosen = paths.filter((path) => path in files && !unchosen.includes(path))
  const texts = chosen.map((path, rank): ChosenText => {
    return { path, blob: blobs.get(path)!, kind: kindOf(path), form: form(path), from: 1, text: files[path]!, rank }
  })
  const rows = paths.map((path) => ({
    path,
    mode: '100644',
    blob: blobs.get(path)!,
    size: all[path]!.length,
    kind: kindOf(path),
    ...(path in files ? { state: 'read' as const } : { state: 'skipped' as const, reason: 'binary' as const }),
  }))
  const skippedCount = Object.keys(skipped).length
  const survey: Survey = {
    commit,
    rootTree: trees['']!,
    counts: {
      files: paths.length,
      bytes: rows.reduce((sum, row) => sum + row.size, 0),
      read: paths.length - skippedCount,
      cut: 0,
      skipped: skippedCount,
      reasons: skippedCount > 0 ? { binary: skippedCount } : {},
      kinds: {},
    },
    directories: Object.entries(trees).map(([path, tree]) => {
      const below = rows.filter((row) => path === '' || row.path.startsWith(`${path}/`))
      return { path, tree, files: below.length, bytes: below.reduce((sum, row) => sum + row.size, 0) }
    }),
    texts,
    secrets: [],
    notices: [],
  }
  return { survey, table: { version: 1, commit, trees, files: rows, secrets: [] } }
}

function treesOf(paths: string[], blobs: Map<string, string>): Record<string, string> {
  const below = new Map<string, string[]>([['', []]])
  for (const path of paths) {
    const parts = path.split('/')
    for (let depth = 0; depth < parts.length; depth++) {
      const directory = parts.slice(0, depth).join('/')
      const inside = parts.slice(depth).join('/')
      below.set(directory, [...(below.get(directory) ?? []), `${inside} ${blobs.get(path)}`])
    }
  }
  return Object.fromEntries([...below].map(([directory, lines]) => [directory, hash('tree', lines.join('\n'))]))
}

/** A source file of so many lines, with a definition now and then, and its own words. */
export function sourceText(name: string, lines: number, seed = 0): string {
  return Array.from({ length: lines }, (_, line) =>
    line % 10 === 0
      ? `export function ${name}${line}(input: string): string {`
      : `  const value${line} = '${name} ${line} ${seed}'`,
  ).join('\n')
}

// ── a model ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface ScriptedModel extends Model {
  requests: (ModelRequest & { input: number; reply?: ModelReply })[]
  /** At the same time, at most. */
  most: number
}

export interface Script {
  name?: string
  contextTokens?: number
  count?: (text: string) => number
  /** Called when a request begins. */
  begin?: () => void
  say?: (
    request: ModelRequest,
    honest: () => string,
  ) => string | Partial<ModelReply> | Promise<string | Partial<ModelReply>>
}

export const countByBytes = (text: string) => Math.ceil(Buffer.byteLength(text) / 3)

export function scriptedModel(script: Script = {}): ScriptedModel {
  const count = script.count ?? countByBytes
  let running = 0
  const model: ScriptedModel = {
    name: script.name ?? 'scripted',
    host: 'localhost',
    contextTokens: script.contextTokens ?? 128_000,
    requests: [],
    most: 0,
    async complete(request) {
      script.begin?.()
      const input = request.messages.reduce((sum, message) => sum + count(message.content) + 8, 0)
      const entry: ScriptedModel['requests'][number] = { ...request, input }
      model.requests.push(entry)
      model.most = Math.max(model.most, ++running)
      try {
        await new Promise((resolve) => setImmediate(resolve))
        request.signal.throwIfAborted()
        const honest = () => honestReply(request, request.answerTokens, count)
        const said = await (script.say?.(request, honest) ?? honest())
        const reply = typeof said === 'string' ? { text: said } : said
        const text = reply.text ?? ''
        const usage = { inputTokens: input, outputTokens: Math.min(count(text), request.answerTokens) }
        entry.reply = { text, truncated: false, usage, ...reply }
        return entry.reply
      } finally {
        running--
      }
    },
    replyTokens: ({ answerTokens }) => answerTokens,
    expectedThinking: 0,
    estimateTokens: count,
  }
  return model
}

export interface ReadPrompt {
  task: string
  files: { path: string; form: string; lines: { number: number; text: string }[] }[]
  texts: { kind: string; lines: string[] }[]
}

export function readPrompt(request: Pick<ModelRequest, 'messages'>): ReadPrompt {
  const prompt: ReadPrompt = { task: /^Task: (\w+)/.exec(request.messages[0]!.content)![1]!, files: [], texts: [] }
  let take: ((line: string) => void) | undefined
  for (const line of request.messages.slice(1).flatMap((message) => message.content.split('\n'))) {
    const file = /^=== file (".*") lines \d+-\d+ \(.*, (.*)\)$/.exec(line)
    const text = /^=== (tree|summary|stays|changed)(?: "[^"]*")?$/.exec(line)
    if (line === '=== end') take = undefined
    else if (file) {
      const block: ReadPrompt['files'][number] = { path: JSON.parse(file[1]!) as string, form: file[2]!, lines: [] }
      prompt.files.push(block)
      take = (row) => {
        const [, number, rest] = /^(\d+)\| (.*)$/s.exec(row)!
        block.lines.push({ number: Number(number), text: rest! })
      }
    } else if (text) {
      const block: ReadPrompt['texts'][number] = { kind: text[1]!, lines: [] }
      prompt.texts.push(block)
      take = (row) => block.lines.push(row.replace(/^\| /, ''))
    } else if (line !== '') {
      if (!take) throw new Error(`A line outside of every block: ${line}`)
      take(line)
    }
  }
  return prompt
}

/** Says one sentence for each file it is shown, and passes on what descriptions say of others. */
function honestReply(request: ModelRequest, maxTokens: number, count: (text: string) => number): string {
  const prompt = readPrompt(request)
  const fresh = prompt.files.map((file) => {
    const digest = sha256(file.lines.map((line) => line.text).join('\n')).slice(0, 8)
    const last = file.lines.findLast((line, index) => line.number === file.lines[0]!.number + index)!.number
    const to = Math.min(last, file.lines[0]!.number + 4)
    return `It keeps ${digest}. ${cite(file.path, file.lines[0]!.number, to)}`
  })
  const earlier = prompt.texts
    .filter((text) => text.kind === 'summary')
    .flatMap((text) => text.lines.filter((line) => line.startsWith('It ')))
  const kept: string[] = []
  let room = Math.floor(maxTokens * 0.8) - 100
  for (const sentence of new Set([...earlier, ...fresh])) {
    room -= count(sentence) + 1
    if (room < 0) break
    kept.push(sentence)
  }
  if (prompt.task === 'part') return `${kept.join(' ')}\nWords: ${prompt.task}, ${fresh.length}`
  if (prompt.task !== 'summary') return kept.join(' ')
  const quarter = (index: number) => kept.filter((_, at) => at % 4 === index).join(' ') || 'Nothing is known.'
  return `## What it is and for whom\n\n${quarter(0)}\n\n## How it is built\n\n${quarter(1)}\n\n## Where to start reading\n\n${quarter(2)}\n\n## How to build, test and run it, and its risks\n\n${quarter(3)}\n\n## Words\n\n- core: kernel, heart\n`
}

export function cite(path: string, from: number, to = from): string {
  const name = /^[\w./-]+$/.test(path) ? path : JSON.stringify(path)
  return `[[${name}:${from === to ? from : `${from}-${to}`}]]`
}

/** About 80,000 tokens in five directories at the top. */
export function largeRepository(): Files {
  const files: Files = { 'README.md': '# Large\n', 'package.json': '{ "name": "large" }\n' }
  for (const top of ['core', 'docs', 'server', 'tools', 'web']) {
    for (let index = 0; index < 10; index++) {
      files[`${top}/part${index % 3}/file${index}.ts`] = sourceText(`${top}${index}`, 120)
    }
  }
  return files
}

export type OrderOptions = Partial<SummaryInput> & SurveyOptions

export async function order(files: Files, model: Model, more: OrderOptions = {}): Promise<SummaryInput> {
  const { skipped, unchosen, form, ...rest } = more
  const options = { ...(skipped && { skipped }), ...(unchosen && { unchosen }), ...(form && { form }) }
  const { survey, table } = surveyOf(files, options)
  const relocations = rest.previous ? await relocationsOf(rest.previous.record, { ...files, ...skipped }, table) : []
  return {
    survey,
    table,
    model,
    limits: { inputTokens: 1_000_000, concurrency: 4 },
    relocations,
    emit: () => {},
    signal: new AbortController().signal,
    ...rest,
  }
}

/** What the sandbox finds of the cited lines, by the program that runs in it. */
async function relocationsOf(record: SummaryRecord, files: Files, table: FileTable): Promise<Relocation[]> {
  const cited: CitedFile[] = statementsOf(record).flatMap(({ citations }) =>
    citations.map(({ path, blob, ...place }) => ({ path, blob, places: [place] })),
  )
  const entries = table.files.map((row) => ({ ...row, name: row.path.slice(row.path.lastIndexOf('/') + 1) }))
  const byBlob = new Map(table.files.map((row) => [row.blob, files[row.path]!]))
  const reader: BlobReader = {
    async read(names, onBlob) {
      for (const [index, name] of names.entries()) onBlob(index, Buffer.from(byBlob.get(name)!))
    },
    stop: () => {},
  }
  return relocate(cited, entries as unknown as Entry[], reader)
}

const place = { host: 'localhost', repository: 'a/b' }

/** The four sections as people read them. */
export const markdownOf = ({ record }: Pick<WrittenSummary, 'record'>) =>
  sectionsMarkdown(record, { place, commit: record.commit })

/** The file that would be sealed. */
export function sealedFile({ record, unchanged, partial }: WrittenSummary, { survey }: SummaryInput): string {
  if (unchanged !== undefined) return unchanged
  return renderSummary({
    record,
    target: { place, commit: record.commit },
    repository: 'a/b',
    counts: survey.counts,
    secrets: 0,
    ...(partial ? { partial } : {}),
  })
}

/** What the next push finds: through bytes, as it is kept. */
export function previousOf(written: WrittenSummary, from: SummaryInput): PreviousSummary {
  return {
    record: decodeSummaryRecord(encodeSummaryRecord(written.record)),
    summary: sealedFile(written, from),
    notes: decodeNotes(encodeNotes(written.notes)),
    table: from.table!,
    ...(written.partial === undefined ? {} : { partial: written.partial }),
  }
}

export function recorder(): { emit: (event: RunEvent) => void; events: RunEvent[] } {
  const events: RunEvent[] = []
  return { events, emit: (event) => events.push(event) }
}
