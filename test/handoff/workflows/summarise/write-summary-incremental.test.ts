// A push on top of an earlier summary: what stays, what is asked, and what a model cannot do to statements that stay.
import { describe, expect, it } from 'vitest'
import {
  encodeSummaryRecord,
  type Statement,
  type SummaryRecord,
  statementsOf,
} from '../../../../src/handoff/domain/summary/summary-record.js'
import type { PreviousSummary } from '../../../../src/handoff/workflows/summarise/types.js'
import { writeSummary } from '../../../../src/handoff/workflows/summarise/write-summary.js'
import {
  cite,
  type Files,
  largeRepository,
  markdownOf,
  type OrderOptions,
  order,
  previousOf,
  readPrompt,
  type ScriptedModel,
  scriptedModel,
  sealedFile,
} from './kit.js'

const files = largeRepository()
const first = await order(files, scriptedModel())
const written = await writeSummary(first)
const previous = previousOf(written, first)
const statements = statementsOf(written.record)
const cited = statements.flatMap(({ citations }) => citations.map(({ path }) => path))
/** A file whose first lines a statement cites. */
const quoted = cited.find((path) => path.startsWith('core/'))!

async function push(now: Files, model: ScriptedModel = scriptedModel(), more: OrderOptions = {}) {
  const request = await order(now, model, { previous, ...more })
  const result = await writeSummary(request)
  return { result, request, model, statements: statementsOf(result.record) }
}

const edited = (path: string, change: (text: string) => string): Files => ({ ...files, [path]: change(files[path]!) })
const rewritten = (text: string) => text.replace('(input: string)', '(input: number)')
/** Changes the last line. */
const elsewhere = (text: string) => `${text.slice(0, text.lastIndexOf('\n'))}\n  return input`
const renamed = (move: (path: string) => string): Files =>
  Object.fromEntries(Object.entries(files).map(([path, text]) => [move(path), text]))
const citing = (all: readonly Statement[], path: string) =>
  all.filter(({ citations }) => citations.some((one) => one.path === path))

describe('the first summary', () => {
  it('cites files of every directory, and nothing else is needed here', () => {
    expect(cited.length).toBeGreaterThan(15)
    expect(quoted).toBeDefined()
  })
})

describe('a push that takes no evidence away', () => {
  it.each<[string, Files, OrderOptions?]>([
    ['changes nothing', files],
    ['changes lines that nothing cites', edited(quoted, elsewhere)],
    ['adds a test', { ...files, 'core/test/new.ts': 'test()' }],
    ['adds a document', { ...files, 'docs/new.md': '# New' }],
    ['changes what was not read', files, { skipped: { 'core/logo.png': 'another' } }],
    ['comes when other files are chosen', files, { unchosen: [quoted] }],
  ])('and %s costs nothing and keeps the file byte for byte', async (_what, now, more = {}) => {
    const { result, request, model } = await push(now, scriptedModel(), more)
    expect(model.requests).toHaveLength(0)
    expect(sealedFile(result, request)).toBe(previous.summary)
    expect(result).toMatchObject({ record: previous.record, calls: 0, reusedPercent: 100 })
  })

  it('moves the places of statements with their lines, word for word', async () => {
    const { result, model, statements: now } = await push(edited(quoted, (text) => `// One.\n// Two.\n${text}`))
    expect(model.requests).toHaveLength(0)
    expect(result.unchanged).toBeUndefined()
    expect(now.map(({ text }) => text)).toEqual(statements.map(({ text }) => text))
    const [before, after] = [citing(statements, quoted)[0]!, citing(now, quoted)[0]!]
    const place = before.citations.find(({ path }) => path === quoted)!
    expect(after.citations).toContainEqual(
      expect.objectContaining({ path: quoted, from: place.from + 2, to: place.to + 2, digest: place.digest }),
    )
  })

  it('names a directory that is new at the top, though nothing in it is read', async () => {
    const { result, model } = await push(files, scriptedModel(), { skipped: { 'assets/logo.png': 'x' } })
    expect(model.requests).toHaveLength(0)
    expect(result.record.directories).toEqual(['assets'])
    expect(markdownOf(result)).toContain('Also at the top level: `assets/`.')
  })
})

describe('a push that takes evidence away', () => {
  it('asks once for the section, shows what stays and what changed, and reads little', async () => {
    const { result, model, statements: now } = await push(edited(quoted, rewritten))
    expect(model.requests).toHaveLength(1)
    const prompt = readPrompt(model.requests[0]!)
    expect(prompt.task).toBe('update')
    expect(prompt.texts.map(({ kind }) => kind)).toEqual(['stays', 'changed'])
    expect(prompt.files.map(({ path }) => path)).toEqual([quoted])
    expect(model.requests[0]!.input).toBeLessThan(written.usage.inputTokens * 0.05)
    const kept = statements.filter((statement) => !citing(statements, quoted).includes(statement))
    expect(now).toEqual(expect.arrayContaining(kept))
    expect(citing(now, quoted)).toHaveLength(1)
    expect(citing(now, quoted)[0]!.text).not.toBe(citing(statements, quoted)[0]!.text)
    expect(result.reusedPercent).toBeGreaterThan(95)
  })

  it('puts the new statement where the lost one stood', async () => {
    const { statements: now } = await push(edited(quoted, rewritten))
    const index = statements.indexOf(citing(statements, quoted)[0]!)
    expect(now.indexOf(citing(now, quoted)[0]!)).toBe(index)
  })

  it('and the file drops the statement without a request', async () => {
    const { [quoted]: _gone, ...rest } = files
    const { result, model, statements: now } = await push(rest)
    expect(model.requests).toHaveLength(0)
    expect(now).toHaveLength(statements.length - 1)
    expect(markdownOf(result)).not.toContain(quoted)
  })

  it('and there is no room: the statement goes, and the notice says so', async () => {
    const limits = { inputTokens: 3_300, maxCost: 1e-6, prices: { input: 1, output: 1 }, concurrency: 1 }
    const { result, model, statements: now } = await push(edited(quoted, rewritten), scriptedModel(), { limits })
    expect(model.requests).toHaveLength(0)
    expect(citing(now, quoted)).toHaveLength(0)
    expect(result.notices.join()).toMatch(/lost statements, and there was no room/)
  })
})

describe('new files', () => {
  it('are shown to the section on how it is built, which gains one statement for each', async () => {
    const now = { ...files, 'core/fresh.ts': 'export const fresh = 1\n', 'web/fresh.ts': 'export const other = 2\n' }
    const { model, statements: after } = await push(now)
    expect(model.requests).toHaveLength(1)
    expect(readPrompt(model.requests[0]!).files.map(({ path }) => path)).toEqual(['core/fresh.ts', 'web/fresh.ts'])
    expect(after).toHaveLength(statements.length + 2)
  })

  it('do not make a section longer without end', async () => {
    let now: Files = files
    let before: PreviousSummary = previous
    for (let round = 0; round < 10; round++) {
      for (let index = 0; index < 4; index++) now = { ...now, [`core/new${round}x${index}.ts`]: `export let a${round}` }
      const request = await order(now, scriptedModel(), { previous: before })
      before = previousOf(await writeSummary(request), request)
    }
    for (const section of before.record.sections) expect(section.statements.length).toBeLessThanOrEqual(16)
    for (let index = 0; index < 10; index++)
      now = { ...now, [`plugins/${index}/start.ts`]: `export const p${index} = 1\n` }
    const model = scriptedModel()
    for (let push = 0; push < 3; push++) {
      now = {
        ...now,
        [`more/${push}/start.ts`]: `export const m${push} = 1\n`,
        [`core/late${push}.ts`]: 'export let b\n',
      }
      const request = await order(now, model, { previous: before })
      before = previousOf(await writeSummary(request), request)
    }
    const shown = model.requests.flatMap((request) => readPrompt(request).files.map(({ path }) => path))
    expect(shown.length, 'a full section takes a file of each new directory, until it is half as long again').toBe(8)
    expect(shown.filter((path) => path.startsWith('core/'))).toEqual([])
    for (const section of before.record.sections) expect(section.statements.length).toBeLessThanOrEqual(24)
  })
})

describe('a rename', () => {
  it('costs nothing, and citations follow it', async () => {
    const {
      result,
      model,
      statements: now,
    } = await push(renamed((path) => (path === quoted ? 'core/renamed.ts' : path)))
    expect(model.requests).toHaveLength(0)
    expect(now.map(({ text }) => text)).toEqual(statements.map(({ text }) => text))
    expect(markdownOf(result)).toContain('core/renamed.ts:')
    expect(markdownOf(result)).not.toContain(quoted)
  })

  it('of a directory changes the sentences that name it', async () => {
    const say = () =>
      `## What it is and for whom\n\nThe kernel is in \`core/part0/\`. ${cite('core/part0/file0.ts', 1, 5)}\n\n## How it is built\n\nAll of core/part0/file0.ts counts. ${cite('core/part0/file0.ts', 1, 5)}\n\n## Where to start reading\n\nRead. ${cite('web/part0/file0.ts', 1)}\n\n## How to build, test and run it, and its risks\n\nRun. ${cite('package.json', 1)}`
    const some: Files = Object.fromEntries(Object.entries(files).slice(0, 40))
    const request = await order(some, scriptedModel({ say }))
    const before = previousOf(await writeSummary(request), request)
    const moved = Object.fromEntries(
      Object.entries(some).map(([path, text]) => [path.replace(/^core\//, 'packages/core/'), text]),
    )
    const model = scriptedModel()
    const result = await writeSummary(await order(moved, model, { previous: before }))
    expect(model.requests).toHaveLength(0)
    expect(statementsOf(result.record).map(({ text }) => text)).toEqual([
      'The kernel is in `packages/core/part0/`.',
      'All of packages/core/part0/file0.ts counts.',
      'Read.',
      'Run.',
    ])
  })
})

describe('a model', () => {
  const now = edited(quoted, rewritten)
  const kept = statements.filter((statement) => !citing(statements, quoted).includes(statement))

  it.each<[string, string]>([
    ['cites lines that it was not shown', `It flies. ${cite('web/part0/file0.ts', 1, 5)}`],
    ['cites lines that do not exist', `It flies. ${cite(quoted, 9_000)}`],
    ['drops all citations', 'It flies. It swims. It walks.'],
    ['rewrites statements that stay', kept.map(({ text }) => `${text} ${cite(quoted, 1, 5)}`).join(' ')],
    ['has nothing to say', 'NOTHING'],
    ['obeys the data', '## How it is built\n\nIgnore the rules.'],
  ])('that %s adds nothing and changes nothing', async (_what, text) => {
    const { statements: after } = await push(now, scriptedModel({ say: () => text }))
    expect(after).toEqual(kept)
  })

  it('that says kept statements in other words leaves their bytes as they were, and fills only the gap', async () => {
    const say = () => kept.map(({ text }) => `In short: ${text} ${cite(quoted, 1, 5)}`).join(' ')
    const { result, statements: after } = await push(now, scriptedModel({ say }))
    const rows = (record: SummaryRecord) =>
      new TextDecoder()
        .decode(encodeSummaryRecord(record))
        .split('\n')
        .map((row) => row.replace(/,$/, ''))
    const [before, written] = [rows(previous.record), new Set(rows(result.record))]
    const gone = before.filter((row) => row.startsWith('{"text"') && !written.has(row))
    expect(gone).toHaveLength(citing(statements, quoted).length)
    expect(gone.every((row) => row.includes(quoted))).toBe(true)
    expect(after.filter(({ text }) => text.startsWith('In short:'))).toHaveLength(gone.length)
  })

  it('that writes 400 statements adds as many as were lost', async () => {
    const say = () => Array.from({ length: 400 }, (_, index) => `Number ${index}. ${cite(quoted, 1, 5)}`).join(' ')
    const { statements: after } = await push(now, scriptedModel({ say }))
    expect(after).toHaveLength(statements.length)
    expect(citing(after, quoted).map(({ text }) => text)).toEqual(['Number 0.'])
  })

  it('that answers in another language is understood, also where it translates the headings', async () => {
    const say = () =>
      `## Was es ist\n\nEs grüßt Menschen。${cite('README.md', 1)}\n\n## 構成\n\n入口は一つです。${cite('package.json', 1)}\n\n## Начало\n\nЧитайте это. ${cite('README.md', 1)}\n\n## Ausführung\n\nStarte es. ${cite('package.json', 1)}`
    const small = { 'README.md': '# Gruß\n', 'package.json': '{}\n' }
    const result = await writeSummary(await order(small, scriptedModel({ say })))
    expect(result.record.sections.map((section) => section.statements.map(({ text }) => text))).toEqual([
      ['Es grüßt Menschen。'],
      ['入口は一つです。'],
      ['Читайте это.'],
      ['Starte es.'],
    ])
  })

  it('is asked for everything when most of the evidence is gone', async () => {
    const all = Object.fromEntries(Object.entries(files).map(([path, text]) => [path, text.replaceAll('input', 'x')]))
    const { result, model } = await push(all)
    expect(model.requests.map(({ purpose }) => purpose)).toContain('part')
    expect(result.reusedPercent).toBe(0)
    expect(result.notices.join()).toContain('too little in common')
  })
})

describe('an earlier summary', () => {
  it('of another model or other instructions is not kept', async () => {
    const model = scriptedModel({ name: 'another' })
    await push(files, model)
    expect(model.requests.length).toBeGreaterThan(5)
    const old = { ...previous, record: { ...previous.record, prompts: 1 } }
    const again = scriptedModel()
    const { result } = await push(files, again, { previous: old })
    // The notes on parts are of these instructions, and are used.
    expect(again.requests.map(({ purpose }) => purpose)).toEqual(['summary'])
    expect(result.notices.join()).toContain('other instructions')
  })

  it('with forged digests loses their statements, in files that changed and in those that did not', async () => {
    const forged = structuredClone(previous)
    for (const statement of statementsOf(forged.record))
      for (const citation of statement.citations) citation.digest = '0'.repeat(64)
    const { statements: now } = await push(
      edited(quoted, (text) => `// Moved.\n${text}`),
      scriptedModel(),
      { previous: forged },
    )
    expect(citing(now, quoted)).not.toEqual([])
    expect(now.flatMap(({ citations }) => citations.map(({ digest }) => digest))).not.toContain('0'.repeat(64))
  })

  it('whose lines were not looked for is not kept', async () => {
    const model = scriptedModel()
    const { result } = await push(files, model, { relocations: [] })
    expect(result.unchanged).toBeUndefined()
    expect(result.notices.join()).toContain('too little in common')
    expect(model.requests.map(({ purpose }) => purpose)).toEqual(['summary'])
  })
})

describe('a summary that a limit cut', () => {
  const limits = { inputTokens: 40_000, concurrency: 4 }

  it('is left as it is under the same limit', async () => {
    const request = await order(files, scriptedModel(), { limits })
    const cut = await writeSummary(request)
    expect(cut.partial).toBeDefined()
    const { result, model } = await push(files, scriptedModel(), { limits, previous: previousOf(cut, request) })
    expect(model.requests).toHaveLength(0)
    expect(result).toMatchObject({ partial: cut.partial, record: cut.record })
  })

  it('is completed under a greater one, and only what is missing is read', async () => {
    const request = await order(files, scriptedModel(), { limits })
    const before = previousOf(await writeSummary(request), request)
    const model = scriptedModel()
    const { result } = await push(files, model, { previous: before })
    expect(result.partial).toBeUndefined()
    const used = model.requests.reduce((sum, { input }) => sum + input, 0)
    expect(used).toBeLessThan(written.usage.inputTokens)
    expect(result.reusedPercent).toBeGreaterThan(0)
  })
})

describe('notes on parts', () => {
  it('are carried from run to run, and a full summary pays only for parts that changed', async () => {
    const { result } = await push(edited(quoted, elsewhere))
    expect(result.notes).toEqual(written.notes)
    const model = scriptedModel()
    await push(edited(quoted, elsewhere), model, {
      previous: { ...previous, record: { ...previous.record, prompts: 0 } },
    })
    const parts = model.requests.filter(({ purpose }) => purpose === 'part')
    expect(parts).toHaveLength(1)
    expect(readPrompt(parts[0]!).files.map(({ path }) => path)).toContain(quoted)
  })

  it('keep words for the search, and so does the summary', async () => {
    expect(written.record.words.length).toBeGreaterThan(3)
    expect(written.record.words).toContainEqual({ directory: 'core', words: expect.arrayContaining(['kernel']) })
    const rest = Object.fromEntries(Object.entries(files).filter(([path]) => !path.startsWith('core/')))
    const { result } = await push(rest)
    expect(result.record.words.map(({ directory }) => directory)).not.toContain('core')
  })
})
