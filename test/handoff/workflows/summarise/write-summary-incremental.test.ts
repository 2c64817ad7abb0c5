import { describe, expect, it } from 'vitest'
import type { SummaryCache } from '../../../../src/handoff/domain/summary/summary-cache.js'
import { sectionsMarkdown } from '../../../../src/handoff/domain/summary/summary-document.js'
import type { SummaryInput } from '../../../../src/handoff/workflows/summarise/types.js'
import { type WrittenSummary, writeSummary } from '../../../../src/handoff/workflows/summarise/write-summary.js'
import {
  type Files,
  largeRepository,
  order,
  previousOf,
  readPrompt,
  recorder,
  type ScriptedModel,
  type SurveyOptions,
  scriptedModel,
  sealedFile,
  sourceText,
} from './kit.js'

interface Pushed {
  model: ScriptedModel
  request: SummaryInput
  written: WrittenSummary
}

async function push(files: Files, before?: Pushed, more: Partial<SummaryInput> & SurveyOptions = {}): Promise<Pushed> {
  const model = scriptedModel()
  const request = order(files, model, {
    ...(before ? { previous: previousOf(before.written, before.request) } : {}),
    ...more,
  })
  return { model, request, written: await writeSummary(request) }
}

const inputOf = ({ model }: Pushed) => model.requests.reduce((sum, request) => sum + request.input, 0)
const textOf = ({ written }: Pushed) =>
  `${sectionsMarkdown(written.sections)}\n${written.cache.parts.map((part) => part.text).join('\n')}`

const changed = (files: Files, path: string, line: number, text: string): Files => {
  const lines = files[path]!.split('\n')
  lines[line - 1] = text
  return { ...files, [path]: lines.join('\n') }
}

describe('what a push sends', () => {
  it('is the changed file and the sentences about it; the others stay without being sent', async () => {
    const files = largeRepository()
    const first = await push(files)
    const second = await push(changed(files, 'core/part0/file0.ts', 3, 'export const renewed = true'), first)
    const part = second.model.requests.find(({ purpose }) => purpose === 'part')!
    const sent = part.messages[1]!.content
    expect(sent).toContain('renewed = true')
    expect(sent).toContain('[kept 1]')
    const reported = first.written.cache.parts.find(({ text }) => text.includes('core/part0/file0.ts'))!
    const other = /core\/part0\/file[1-9]\.ts/.exec(reported.text)![0]
    expect(sent).not.toContain(other)
    expect(textOf(second)).toContain(other)
    expect(textOf(second)).not.toContain('[kept')
  })

  it('is of a long new document its beginning, of new source all', async () => {
    const lines = (name: string) =>
      Array.from({ length: 100 }, (_, index) => `export const ${name}${index} = ${index}`).join('\n')
    const files = largeRepository()
    const first = await push(files)
    const more = { ...files, 'core/part0/new.ts': lines('source'), 'docs/new.md': lines('tested') }
    const second = await push(more, first)
    const sent = second.model.requests.map(({ messages }) => messages[1]!.content).join('\n')
    expect(sent).toContain('source99')
    expect(sent).toContain('tested59')
    expect(sent).not.toContain('tested60')
  })
})

describe('a push without a source change', () => {
  it('asks for nothing and keeps the file byte for byte', async () => {
    const first = await push(largeRepository())
    const second = await push(largeRepository(), first)
    expect(second.model.requests).toHaveLength(0)
    expect(sealedFile(second.written, second.request)).toBe(sealedFile(first.written, first.request))
    expect(second.written).toMatchObject({ reusedPercent: 100, calls: 0, usage: { inputTokens: 0, outputTokens: 0 } })
    expect(second.written.saved.inputTokens).toBeGreaterThan(50_000)
  })

  it('may change what is skipped, and where nothing else did', async () => {
    const first = await push(largeRepository(), undefined, { skipped: { 'core/logo.png': 'one' } })
    const second = await push(largeRepository(), first, { skipped: { 'core/logo.png': 'two', 'web/new.png': 'three' } })
    expect(second.model.requests).toHaveLength(0)
    expect(sealedFile(second.written, second.request)).toBe(sealedFile(first.written, first.request))
  })

  it('may choose other files than the last time', async () => {
    const files = largeRepository()
    const first = await push(files, undefined, { unchosen: ['core/part0/file0.ts'] })
    const second = await push(files, first, { unchosen: ['web/part1/file1.ts'] })
    expect(second.model.requests).toHaveLength(0)
    expect(second.written.unchanged).toBe(sealedFile(first.written, first.request))
    expect(second.written.cache.files.map((file) => file.path)).toContain('web/part1/file1.ts')
  })

  it('tells of a directory that is new at the top, though nothing in it is read', async () => {
    const first = await push(largeRepository())
    const second = await push(largeRepository(), first, { skipped: { 'assets/a.png': 'x' } })
    expect(second.model.requests).toHaveLength(0)
    expect(sectionsMarkdown(second.written.sections)).toContain('`assets/`')
    expect(second.written.unchanged).toBeUndefined()
  })

  it('estimates nothing', async () => {
    const first = await push(largeRepository())
    const { emit, events } = recorder()
    await push(largeRepository(), first, { emit })
    expect(events).toEqual([{ type: 'model-estimate', calls: 0, inputTokens: 0 }])
  })
})

describe('a push that changes one file', () => {
  it('reads what changed and little else', async () => {
    const files = largeRepository()
    const first = await push(files)
    const second = await push(changed(files, 'server/part1/file4.ts', 60, 'const other = 1'), first)
    expect(second.model.requests.map((request) => request.purpose)).toEqual(['part', 'summary'])
    const { files: shown } = readPrompt(second.model.requests[0]!)
    expect(shown.map((file) => file.path)).toEqual(['server/part1/file4.ts'])
    expect(shown[0]!.form).toBe('changed')
    expect(shown[0]!.lines.map((line) => line.number)).toContain(60)
    expect(shown[0]!.lines.length).toBeLessThan(40)
    expect(inputOf(second) / inputOf(first)).toBeLessThan(0.05)
    expect(second.written.reusedPercent).toBeGreaterThan(95)
  })

  it('leaves the other parts and the sections that it cannot touch as they were', async () => {
    const files = largeRepository()
    const first = await push(files)
    const second = await push(changed(files, 'server/part1/file4.ts', 60, 'const other = 1'), first)
    const before = new Map(first.written.cache.parts.map((part) => [part.id, part.text]))
    const other = second.written.cache.parts.filter((part) => part.text !== before.get(part.id))
    expect(other).toHaveLength(1)
    const same = second.written.sections.filter((section, index) => section === first.written.sections[index])
    expect(same.length).toBeGreaterThanOrEqual(2)
  })

  it('in the middle of a huge file sends the changed lines of it', async () => {
    const files = { ...largeRepository(), 'core/huge.ts': sourceText('huge', 9_000) }
    const first = await push(files)
    const second = await push(changed(files, 'core/huge.ts', 4_500, 'const other = 1'), first)
    expect(inputOf(second) / inputOf(first)).toBeLessThan(0.02)
  })

  it('moves the lines that the words name along with the code', async () => {
    const files = largeRepository()
    const say = ({ purpose }: { purpose: string }, honest: () => string) =>
      purpose === 'part' ? 'The part has core/part0/file0.ts:91 and web/part0/file0.ts:11.' : honest()
    const model = scriptedModel({ say })
    const request = order(files, model)
    const first = { model, request, written: await writeSummary(request) }
    const path = 'core/part0/file0.ts'
    const second = await push({ ...files, [path]: `// one\n// two\n// three\n${files[path]}` }, first)
    expect(textOf(second)).toContain(`${path}:94`)
    expect(textOf(second)).not.toContain(`${path}:91 `)
    expect(textOf(second)).toContain('web/part0/file0.ts:11')
  })

  it('of a small repository takes one small call', async () => {
    const files: Files = {
      'README.md': '# Small\n',
      'src/a.ts': sourceText('a', 200),
      'src/b.ts': sourceText('b', 200),
    }
    const first = await push(files)
    const second = await push(changed(files, 'src/a.ts', 100, 'const other = 1'), first)
    expect(second.model.requests.map((request) => request.purpose)).toEqual(['summary'])
    expect(inputOf(second)).toBeLessThan(inputOf(first) * 0.4)
    const shown = readPrompt(second.model.requests[0]!).files
    expect(shown.map((file) => file.path)).toEqual(['src/a.ts'])
  })

  it('asks for nothing more when the part reads as before', async () => {
    const files = largeRepository()
    const first = await push(files)
    const same = (request: { purpose: string; messages: { content: string }[] }, honest: () => string) => {
      if (request.purpose !== 'part') return honest()
      const { texts } = readPrompt(request as never)
      return texts[0]!.lines.slice(1).join('\n')
    }
    const model = scriptedModel({ say: same })
    const before = previousOf(first.written, first.request)
    const written = await writeSummary(order(changed(files, 'web/part0/file0.ts', 5, 'x'), model, { previous: before }))
    expect(model.requests.map((request) => request.purpose)).toEqual(['part'])
    expect(written.sections).toEqual(first.written.sections)
  })
})

describe('what moves and what goes', () => {
  it('a rename costs nothing, and the words follow it', async () => {
    const files = largeRepository()
    const first = await push(files)
    const { 'core/part0/file0.ts': text, ...rest } = files
    const second = await push({ ...rest, 'web/part2/renamed.ts': text! }, first)
    expect(second.model.requests).toHaveLength(0)
    expect(textOf(first)).toContain('core/part0/file0.ts:1')
    expect(textOf(second)).not.toContain('core/part0/file0.ts')
    expect(textOf(second)).toContain('web/part2/renamed.ts:1')
  })

  it.each([
    ['a code mark', 'web/`renamed.ts'],
    ['a tag', 'web/<img src=x onerror=alert>.ts'],
    ['a line end', 'web/x\n## forged.ts'],
    ['a line separator', 'web/x\u2028forged.ts'],
    ['a control character', 'web/x\u001bforged.ts'],
  ])('a name with %s that a file moves to is not written into the words', async (_what, name) => {
    const files = largeRepository()
    const first = await push(files)
    const { 'core/part0/file0.ts': text, ...rest } = files
    const second = await push({ ...rest, [name]: text! }, first)
    expect(textOf(first)).toContain('core/part0/file0.ts:1')
    expect(textOf(second)).not.toContain('core/part0/file0.ts')
    expect(textOf(second)).not.toContain(name)
  })

  it('so does a directory that moves as a whole', async () => {
    const files = largeRepository()
    const first = await push(files)
    const moved = Object.fromEntries(
      Object.entries(files).map(([path, text]) => [path.replace(/^core\//, 'engine/'), text]),
    )
    const second = await push(moved, first)
    expect(second.model.requests).toHaveLength(0)
    expect(textOf(second)).not.toContain('core/')
    expect(sectionsMarkdown(second.written.sections)).toContain('engine/')
  })

  it('a file that moved and changed a little is read as a change', async () => {
    const files = largeRepository()
    const first = await push(files)
    const { 'core/part0/file0.ts': text, ...rest } = files
    const second = await push({ ...rest, 'core/part0/renamed.ts': text!.replace('value5 ', 'other5 ') }, first)
    const shown = readPrompt(second.model.requests[0]!).files
    expect(shown).toMatchObject([{ path: 'core/part0/renamed.ts', form: 'changed' }])
    expect(textOf(second)).not.toContain('core/part0/file0.ts')
  })

  it('a directory that is removed is named nowhere any more', async () => {
    const files = largeRepository()
    const first = await push(files)
    expect(textOf(first)).toContain('docs/')
    const second = await push(
      Object.fromEntries(Object.entries(files).filter(([path]) => !path.startsWith('docs/'))),
      first,
    )
    expect(textOf(second)).not.toContain('docs/')
    expect(second.model.requests.map((request) => request.purpose)).toContain('summary')
  })

  it('nothing that is gone comes back because the model insists', async () => {
    const files = largeRepository()
    const first = await push(files)
    const stubborn = scriptedModel({
      say: ({ purpose }) =>
        purpose === 'part'
          ? 'All hangs on docs/part0/file0.ts:1. The core is core/part0/file0.ts:1.'
          : '## What it is and for whom\n\nSee `docs/`.\n\n## How it is built\n\nThere is docs/part0, and docs/part0/file0.ts:3.\n\n## Where to start reading\n\n- docs/part0/file0.ts\n- core/part0/file0.ts\n\n## How to build, test and run it, and its risks\n\nNone.',
    })
    const rest = Object.fromEntries(Object.entries(files).filter(([path]) => !path.startsWith('docs/')))
    const request = order(changed(rest, 'core/part0/file0.ts', 3, 'x'), stubborn, {
      previous: previousOf(first.written, first.request),
    })
    const written = await writeSummary(request)
    expect(textOf({ model: stubborn, request, written })).not.toContain('docs/')
  })

  it('a new directory at the top becomes a part of its own', async () => {
    const files = largeRepository()
    const first = await push(files)
    const second = await push({ ...files, 'mobile/app.ts': sourceText('mobile', 80) }, first)
    expect(second.model.requests.map((request) => request.purpose)).toEqual(['part', 'summary'])
    expect(readPrompt(second.model.requests[0]!).files.map((file) => file.path)).toEqual(['mobile/app.ts'])
    expect(second.written.cache.parts.some((part) => part.directory === 'mobile')).toBe(true)
    expect(sectionsMarkdown(second.written.sections)).toContain('mobile/')
  })

  it('what a reply forgot is kept', async () => {
    const files = largeRepository()
    const first = await push(files)
    const forgetful = scriptedModel({
      say: ({ purpose }, honest) =>
        purpose === 'summary' ? '## How it is built\n\nIt is one file, core/part0/file0.ts:1.' : honest(),
    })
    const request = order(changed(files, 'core/part0/file0.ts', 3, 'x'), forgetful, {
      previous: previousOf(first.written, first.request),
    })
    const written = await writeSummary(request)
    const paths = (text: string) => new Set(text.match(/\w+\/part\d\/file\d\.ts/g))
    for (const path of paths(first.written.sections.join('\n')))
      expect(paths(written.sections.join('\n'))).toContain(path)
  })
})

it('parts that have become too many are joined anew', async () => {
  const small = (): ReturnType<typeof scriptedModel> => scriptedModel({ contextTokens: 3_000 })
  let files = Object.fromEntries(Object.entries(largeRepository()).slice(0, 12))
  let request = order(files, small())
  let written = await writeSummary(request)
  for (let index = 0; index < 12; index++) {
    files = { ...files, [`top${index}/a.ts`]: sourceText(`top${index}`, 90) }
    const model = small()
    const next = order(files, model, { previous: previousOf(written, request) })
    written = await writeSummary(next)
    request = next
    for (const { input, answerTokens } of model.requests) expect(input + answerTokens).toBeLessThanOrEqual(3_000)
    expect(written.cache.parts.filter((part) => part.parent === undefined).length).toBeLessThanOrEqual(4)
    expect(written.cache.parts.every((part) => part.text !== '')).toBe(true)
  }
  expect(written.cache.files.map((file) => file.path)).toEqual(Object.keys(files).sort())
  expect(written.partial).toBeUndefined()
})

describe('an earlier run that cannot be built on', () => {
  const expectFull = async (previous: SummaryInput['previous'], notice: RegExp) => {
    const { emit, events } = recorder()
    const again = await push(largeRepository(), undefined, { ...(previous && { previous }), emit })
    const fresh = await push(largeRepository())
    expect(inputOf(again)).toBe(inputOf(fresh))
    expect(again.written).toMatchObject({ reusedPercent: 0, saved: { inputTokens: 0 } })
    expect(events.flatMap((event) => (event.type === 'notice' ? [event.text] : [])).join()).toMatch(notice)
  }

  it('of another history is ignored', async () => {
    const other = Object.fromEntries(
      Object.entries(largeRepository()).map(([path, text]) => [path, text.replaceAll('value', 'other')]),
    )
    const first = await push(other)
    await expectFull(previousOf(first.written, first.request), /too little in common/)
  })

  it('of another model, or other instructions, too', async () => {
    const first = await push(largeRepository())
    const previous = previousOf(first.written, first.request)
    const change = (cache: Partial<SummaryCache>) => ({ ...previous, cache: { ...previous.cache, ...cache } })
    await expectFull(change({ model: 'another' }), /another model/)
    await expectFull(change({ prompts: 99 }), /other instructions/)
  })
})

describe('an earlier run that a limit ended', () => {
  const limits = (inputTokens: number) => ({ limits: { inputTokens, concurrency: 2 } })

  it('is left as it is under the same limit', async () => {
    const first = await push(largeRepository(), undefined, limits(40_000))
    const second = await push(largeRepository(), first, limits(40_000))
    expect(second.model.requests).toHaveLength(0)
    expect(second.written.partial).toBe(first.written.partial)
    expect(second.written.unchanged).toBeDefined()
  })

  it('does not grow under the same limit because what was left out changed', async () => {
    const first = await push(largeRepository(), undefined, limits(40_000))
    const left = first.written.cache.files.find((file) => file.leftOut)!.path
    const second = await push(changed(largeRepository(), left, 3, 'x'), first, limits(40_000))
    expect(second.model.requests).toHaveLength(0)
    expect(second.written.partial).toBe(first.written.partial)
  })

  it('is completed under a greater one, and only what is missing is read', async () => {
    const first = await push(largeRepository(), undefined, limits(40_000))
    const left = first.written.cache.files.filter((file) => file.leftOut).map((file) => file.path)
    const second = await push(largeRepository(), first, limits(1_000_000))
    const read = second.model.requests.flatMap((request) => readPrompt(request).files.map((file) => file.path))
    expect([...new Set(read)].sort()).toEqual(left.sort())
    expect(second.written.partial).toBeUndefined()
  })
})
