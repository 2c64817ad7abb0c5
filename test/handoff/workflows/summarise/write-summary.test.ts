import { describe, expect, it } from 'vitest'
import { isHandoffError } from '../../../../src/handoff/domain/errors.js'
import { citedShare, headings } from '../../../../src/handoff/domain/summary/summary-record.js'
import { writeSummary } from '../../../../src/handoff/workflows/summarise/write-summary.js'
import { type Files, largeRepository, markdownOf, order, readPrompt, recorder, scriptedModel, surveyOf } from './kit.js'

const small: Files = {
  'README.md': '# A small thing\n\nIt greets.\n',
  'package.json': '{ "name": "small" }\n',
  'src/greet.ts': "export function greet(name: string) {\n  return 'hello ' + name\n}\n",
  'src/main.ts': "import { greet } from './greet.js'\nconsole.log(greet('you'))\n",
}

describe('a first summary', () => {
  it('of a small repository takes one call, with every file in it', async () => {
    const model = scriptedModel()
    const { emit, events } = recorder()
    const written = await writeSummary(await order(small, model, { emit }))
    expect(model.requests).toHaveLength(1)
    expect(readPrompt(model.requests[0]!).files.map((file) => file.path)).toEqual(Object.keys(small).sort())
    expect(model.requests[0]!.messages[0]!.content).toMatch(/^Task: summary\n/)
    expect(written).toMatchObject({ calls: 1, reusedPercent: 0, counts: { removed: 0, repaired: 0, uncited: 0 } })
    expect(written.counts.checked).toBeGreaterThan(3)
    expect(citedShare(written.record)).toBe(1)
    expect(written.record.words).toEqual([])
    expect(written.partial).toBeUndefined()
    expect(events.map((event) => event.type)).toEqual(['model-estimate', 'model-call'])
    for (const heading of headings) expect(markdownOf(written)).toContain(`## ${heading}\n`)
  })

  it('of a large one describes parts side by side, then the whole, and names every directory at the top', async () => {
    const model = scriptedModel()
    const written = await writeSummary(await order(largeRepository(), model))
    const tasks = model.requests.map((request) => request.purpose)
    expect(tasks.filter((task) => task === 'part').length).toBeGreaterThan(5)
    expect(tasks.filter((task) => task === 'summary')).toHaveLength(1)
    expect(tasks.at(-1)).toBe('summary')
    expect(model.most).toBe(4)
    const text = markdownOf(written)
    for (const top of ['core', 'docs', 'server', 'tools', 'web']) expect(text).toContain(`${top}/`)
    const reported = new Set(model.requests.flatMap((request) => readPrompt(request).files.map((file) => file.path)))
    expect([...reported].sort()).toEqual(Object.keys(largeRepository()).sort())
  })

  it('joins descriptions from the bottom up when the last request cannot take them all', async () => {
    const model = scriptedModel({ contextTokens: 6_000 })
    const written = await writeSummary(await order(largeRepository(), model))
    const tasks = model.requests.map((request) => request.purpose)
    expect(tasks).toContain('combine')
    expect(tasks.lastIndexOf('part')).toBeLessThan(tasks.indexOf('combine'))
    expect(tasks.at(-1)).toBe('summary')
    for (const request of model.requests) expect(request.input + request.answerTokens).toBeLessThanOrEqual(6_000)
    expect(citedShare(written.record)).toBeGreaterThan(0.7)
  })

  it('tells before the first call what it will take, and is not far off', async () => {
    const model = scriptedModel()
    const { emit, events } = recorder()
    await writeSummary(
      await order(largeRepository(), model, {
        emit,
        limits: { inputTokens: 1e6, concurrency: 1, prices: { input: 2, output: 8 } },
      }),
    )
    const [estimate] = events
    if (estimate?.type !== 'model-estimate') throw new Error('The estimate comes first.')
    const used = model.requests.reduce((sum, request) => sum + request.input, 0)
    expect(estimate.calls).toBe(model.requests.length)
    expect(Math.abs(estimate.inputTokens - used) / used).toBeLessThan(0.15)
    expect(estimate.cost).toBeGreaterThan((used * 2) / 1e6)
  })

  it('of a repository without any text needs no model', async () => {
    const model = scriptedModel()
    const { survey, table } = surveyOf({}, { skipped: { 'logo.png': 'x' } })
    const written = await writeSummary(await order({}, model, { survey, table }))
    expect(model.requests).toHaveLength(0)
    expect(markdownOf(written)).toContain('no text that could be read')
  })

  it('keeps sentences that cite lines, and of the others the first of each section', async () => {
    const say = () =>
      `## What it is and for whom

It is small. It greets people. [[src/greet.ts:1-2 "export function greet"]] It flies. [[src/wings.ts:3]] It is kind.

## How it is built

The door is main.ts. [[src/main.ts:7-9 "console.log"]] It needs src/wings.ts too. [[src/main.ts:1]]

## Where to start reading

1. \`src/main.ts:99\` calls it [[src/main.ts:2]].
2. Nothing here.

## How to build, test and run it, and its risks

Run it: [[package.json:1]]

\`\`\`sh
npm start
\`\`\``
    const written = await writeSummary(await order(small, scriptedModel({ say })))
    const said = written.record.sections.map(({ statements }) =>
      statements.map(({ text, citations }) =>
        [text, ...citations.map(({ path, from, to }) => `${path}:${from}-${to}`)].join(' '),
      ),
    )
    expect(said).toEqual([
      ['It is small.', 'It greets people. src/greet.ts:1-2'],
      ['The door is src/main.ts. src/main.ts:2-2'],
      ['`src/main.ts` calls it. src/main.ts:2-2'],
      ['Run it: `npm start` package.json:1-1'],
    ])
    expect(written.counts).toEqual({ checked: 9, repaired: 2, removed: 2, uncited: 3 })
  })

  it('asks once more when sections are missing, and says so where they stay missing', async () => {
    const say = () => '## What it is and for whom\n\nA thing.'
    const model = scriptedModel({ say })
    const written = await writeSummary(await order(small, model))
    expect(model.requests).toHaveLength(2)
    const { sections } = written.record
    expect(sections[0]!.statements).toEqual([{ text: 'A thing.', citations: [] }])
    expect(sections[2]!.statements[0]!.citations).toMatchObject([{ path: 'README.md', from: 1, to: 1 }])
    expect(sections[3]!.statements[0]!.text).toContain('wrote nothing')
  })

  it('asks again for a part that was cut, in two halves', async () => {
    let cut = 0
    const model = scriptedModel({
      say: (request, honest) =>
        request.purpose === 'part' && cut++ === 0 ? { text: honest(), truncated: true } : honest(),
    })
    await writeSummary(await order(largeRepository(), model, { limits: { inputTokens: 1e6, concurrency: 1 } }))
    const [whole, first, second] = model.requests.map(readPrompt)
    const lines = (prompt: typeof whole) =>
      prompt!.files.flatMap((file) => file.lines.map((line) => `${file.path} ${line.number}`))
    expect([...lines(first), ...lines(second)]).toEqual(lines(whole))
  })
})

describe('limits', () => {
  it('leave out the least central files, and say which', async () => {
    const model = scriptedModel()
    const files = largeRepository()
    const written = await writeSummary(await order(files, model, { limits: { inputTokens: 40_000, concurrency: 4 } }))
    const used = model.requests.reduce((sum, request) => sum + request.input, 0)
    expect(used).toBeLessThanOrEqual(40_000)
    expect(used).toBeGreaterThan(25_000)
    expect(written.partial).toMatch(/^A limit .* left \d+ of 52 chosen files undescribed: “.*” and \d+ more\.$/)
    const shown = new Set(model.requests.flatMap((request) => readPrompt(request).files.map((file) => file.path)))
    expect([...shown]).not.toContain('web/part2/file8.ts')
    expect([...shown]).toContain('README.md')
    const text = markdownOf(written)
    for (const top of ['core', 'docs', 'server', 'tools', 'web']) expect(text).toContain(`${top}/`)
  })

  it('in money hold too', async () => {
    const model = scriptedModel()
    const prices = { input: 1, output: 4 }
    const written = await writeSummary(
      await order(largeRepository(), model, { limits: { inputTokens: 1e6, maxCost: 0.05, prices, concurrency: 4 } }),
    )
    expect(written.cost?.amount).toBeLessThanOrEqual(0.05)
    expect(written.cost).toMatchObject({ currency: 'USD', source: 'settings' })
    expect(written.partial).toBeDefined()
  })

  it('in money are refused when no price is known, before anything is asked', async () => {
    const model = scriptedModel()
    const failure = await writeSummary(
      await order(small, model, { limits: { inputTokens: 1e6, maxCost: 1, concurrency: 1 } }),
    ).catch((error) => error)
    expect(isHandoffError(failure, 'missing-setting')).toBe(true)
    expect(model.requests).toHaveLength(0)
  })

  it('that allow nothing are an error, before anything is asked', async () => {
    const model = scriptedModel()
    const failure = await writeSummary(
      await order(small, model, { limits: { inputTokens: 500, concurrency: 1 } }),
    ).catch((error) => error)
    expect(isHandoffError(failure, 'budget')).toBe(true)
    expect(model.requests).toHaveLength(0)
  })

  it('show no price for an unknown model', async () => {
    const { emit, events } = recorder()
    const written = await writeSummary(await order(small, scriptedModel(), { emit }))
    expect(written.cost).toBeUndefined()
    expect(events[0]).not.toHaveProperty('cost')
  })
})
