import { describe, expect, it } from 'vitest'
import { HandoffError, isHandoffError } from '../../../../src/handoff/domain/errors.js'
import { decodeNotes, encodeNotes, type Note, type Notes } from '../../../../src/handoff/domain/summary/notes.js'
import { statementsOf } from '../../../../src/handoff/domain/summary/summary-record.js'
import type { Checkpoint } from '../../../../src/handoff/workflows/summarise/checkpoint.js'
import { writeSummary } from '../../../../src/handoff/workflows/summarise/write-summary.js'
import {
  largeRepository,
  markdownOf,
  order,
  previousOf,
  recorder,
  type ScriptedModel,
  scriptedModel,
  sealedFile,
} from './kit.js'

/** Keeps bytes, as a drive does. */
function shelf(): Checkpoint & { saves: number; kept: () => Notes } {
  let bytes: Uint8Array | undefined
  let saving = false
  const kept = () => (bytes ? decodeNotes(bytes) : new Map())
  const self = {
    saves: 0,
    kept,
    load: async () => kept(),
    async save(notes: Iterable<Note>) {
      expect(saving).toBe(false)
      saving = true
      const copy = encodeNotes(notes)
      await new Promise((resolve) => setTimeout(resolve, 2))
      bytes = copy
      self.saves++
      saving = false
    },
  }
  return self
}

const broken = () => new HandoffError('model', 'The service is down.')

/** Fails at the nth request, whichever it is. */
function failingAt(n: number): ScriptedModel {
  let count = 0
  return scriptedModel({
    say: (_, honest) => {
      if (++count === n) throw broken()
      return honest()
    },
  })
}

const reported = (model: ScriptedModel) =>
  model.requests.filter((request) => request.reply).map((request) => request.messages[1]!.content)

describe('a run that fails', () => {
  it('keeps what was paid for, and the next one asks only for the rest', async () => {
    const whole = scriptedModel()
    await writeSummary(await order(largeRepository(), whole))
    for (const n of [1, 4, whole.requests.length]) {
      const checkpoint = shelf()
      const first = failingAt(n)
      const failure = await writeSummary(await order(largeRepository(), first, { checkpoint })).catch((error) => error)
      expect(isHandoffError(failure, 'model')).toBe(true)
      const second = scriptedModel()
      const written = await writeSummary(await order(largeRepository(), second, { checkpoint }))
      const asked = [...reported(first), ...reported(second)]
      expect(new Set(asked).size).toBe(asked.length)
      expect(asked.length).toBe(whole.requests.length)
      expect(written.reusedPercent > 0).toBe(reported(first).length > 0)
    }
  })

  it('after the last reply has nothing left to ask', async () => {
    const checkpoint = shelf()
    const first = await writeSummary(await order(largeRepository(), scriptedModel(), { checkpoint }))
    const model = scriptedModel()
    const second = await writeSummary(await order(largeRepository(), model, { checkpoint }))
    expect(model.requests).toHaveLength(0)
    expect(second.record).toEqual(first.record)
  })

  it('begins nothing new after a failure, and waits for what was begun', async () => {
    const checkpoint = shelf()
    let running = 0
    const model = scriptedModel({
      say: async (_, honest) => {
        if (++running === 1) throw broken()
        await new Promise((resolve) => setTimeout(resolve, 5))
        running--
        return honest()
      },
    })
    await writeSummary(await order(largeRepository(), model, { checkpoint })).catch(() => {})
    expect(model.requests).toHaveLength(4)
    expect(running).toBe(1)
    expect(checkpoint.kept().size).toBe(3)
  })

  it('because it was stopped keeps what it has', async () => {
    const checkpoint = shelf()
    const stop = new AbortController()
    const model = scriptedModel({
      say: (_, honest) => {
        if (model.requests.length === 6) stop.abort()
        return honest()
      },
    })
    const failure = await writeSummary(
      await order(largeRepository(), model, { checkpoint, signal: stop.signal }),
    ).catch((error) => error)
    expect(failure).toBeInstanceOf(Error)
    expect(checkpoint.kept().size).toBeGreaterThan(1)
    expect(model.requests.length).toBeLessThan(10)
  })

  it('in a push resumes it too', async () => {
    const files = largeRepository()
    const request = await order(files, scriptedModel())
    const previous = previousOf(await writeSummary(request), request)
    const cited = new Set(statementsOf(previous.record).flatMap(({ citations }) => citations.map(({ path }) => path)))
    const pushed = { ...files }
    for (const path of [...cited].slice(0, 8)) pushed[path] = `// new\n${pushed[path]!.replace('input', 'changed')}`
    const checkpoint = shelf()
    const limits = { inputTokens: 1e6, concurrency: 1 }
    const first = failingAt(2)
    await writeSummary(await order(pushed, first, { previous, checkpoint, limits })).catch(() => {})
    const second = scriptedModel()
    const resumed = await writeSummary(await order(pushed, second, { previous, checkpoint, limits }))
    const whole = scriptedModel()
    const direct = await writeSummary(await order(pushed, whole, { previous, limits }))
    expect(reported(first)).toHaveLength(1)
    expect([...reported(first), ...reported(second)].sort()).toEqual(reported(whole).sort())
    expect(resumed.record).toEqual(direct.record)
  })
})

describe('a checkpoint', () => {
  it('that cannot be written is reported once and costs nothing else', async () => {
    const { emit, events } = recorder()
    const checkpoint: Checkpoint = {
      load: async () => new Map(),
      save: () => Promise.reject(new HandoffError('drive', 'No room.')),
    }
    const written = await writeSummary(await order(largeRepository(), scriptedModel(), { checkpoint, emit }))
    expect(written.calls).toBeGreaterThan(5)
    expect(events.filter((event) => event.type === 'notice')).toHaveLength(1)
  })

  it('that cannot be read is reported, and the run goes on', async () => {
    const { emit, events } = recorder()
    const checkpoint: Checkpoint = {
      load: () => Promise.reject(new HandoffError('corrupt', 'It is broken.')),
      save: async () => {},
    }
    const written = await writeSummary(await order(largeRepository(), scriptedModel(), { checkpoint, emit }))
    expect(written.partial).toBeUndefined()
    expect(events).toContainEqual({
      type: 'notice',
      text: 'The checkpoint of an earlier attempt could not be read: It is broken.',
    })
  })

  it('of another model is not used', async () => {
    const checkpoint = shelf()
    await writeSummary(await order(largeRepository(), scriptedModel(), { checkpoint }))
    const model = scriptedModel({ name: 'another' })
    await writeSummary(await order(largeRepository(), model, { checkpoint }))
    expect(model.requests.length).toBeGreaterThan(5)
  })
})

describe('a model that says nothing', () => {
  it('leaves files undescribed, and the summary says which', async () => {
    const model = scriptedModel({
      say: (request, honest) => (request.messages[1]!.content.includes('"tools/part0') ? '' : honest()),
    })
    const request = await order(largeRepository(), model)
    const written = await writeSummary(request)
    expect(written.partial).toContain('tools/part0')
    expect(sealedFile(written, request)).toContain('> Not complete: ')
    expect(markdownOf(written)).toContain('tools/')
  })

  it('or far too much, is cut', async () => {
    const model = scriptedModel({ say: () => `It is so. [[core/part0/file0.ts:1]] ${'And so on. '.repeat(10_000)}` })
    const written = await writeSummary(await order(largeRepository(), model))
    expect(markdownOf(written).length).toBeLessThan(70_000)
    expect(encodeNotes(written.notes).length).toBeLessThan(4_000_000)
  })

  it('or HTML and control characters, is cleaned', async () => {
    const say = () =>
      '## What it is and for whom\n\n<script>alert(1)</script> It\u0007 is <b>bold</b>.\n\n## How it is built\n\n![x](https://collector.example/p.png) [a](javascript:b)\n\n```\n<img src=x>\n## Where to start reading\n\n<img src=y onerror=z>\n```\n\n## How to build, test and run it, and its risks\n\n`<ok>` and ` <i>no</i>'
    const written = await writeSummary(await order({ 'a.ts': 'x' }, scriptedModel({ say })))
    const text = markdownOf(written)
    expect(text).not.toMatch(/\u0007|\]\(|<script|<b>|<i>|<img src=y/)
    expect(text).toContain('&lt;script>')
    expect(text).toContain('`<ok>`')
  })
})

describe('a model whose thinking leaves no room for text', () => {
  const problem = new HandoffError('model', 'Thinking used it all.', { next: 'Raise LLM_MAX_OUTPUT_TOKENS.' })
  const starved = { text: '', truncated: true, mayWiden: true, problem }
  const isPart = (request: { messages: { content: string }[] }) => request.messages[1]!.content.includes('"tools/part0')

  it('is asked once more with a wider limit, and nothing is missing then', async () => {
    const { emit, events } = recorder()
    const model = scriptedModel({
      say: (request, honest) => (isPart(request) && !request.wide ? starved : honest()),
    })
    const written = await writeSummary(await order(largeRepository(), model, { emit }))
    expect(written.partial).toBeUndefined()
    expect(written.notices).toEqual([])
    const part = model.requests.filter((request) => isPart(request) && request.purpose === 'part')
    expect(part.map(({ wide }) => wide === true).sort()).toEqual([false, true])
    expect(events.filter((event) => event.type === 'model-call')).toHaveLength(model.requests.length)
  })

  it('in both requests costs the part and not the run, and the summary names it', async () => {
    const model = scriptedModel({
      say: (request, honest) => (isPart(request) ? { ...starved, mayWiden: !request.wide } : honest()),
    })
    const request = await order(largeRepository(), model)
    const written = await writeSummary(request)
    expect(written.partial).toContain('tools/part0')
    expect(written.notices).toEqual(['Thinking used it all. Raise LLM_MAX_OUTPUT_TOKENS.'])
    expect(sealedFile(written, request)).toContain('> Not complete: ')
  })

  it('in every request ends with what to set, and nothing is written', async () => {
    const model = scriptedModel({ say: () => starved })
    await expect(writeSummary(await order(largeRepository(), model))).rejects.toBe(problem)
  })

  it('never spends more than its limits, though thinking fills every reply', async () => {
    const files = largeRepository()
    const prices = { input: 1, output: 10 }
    const made = new Map<number, number>()
    for (const maxCost of [0.25, 0.4, 1, 3]) {
      const model = scriptedModel({
        say: (request, honest) => ({
          text: request.wide || !isPart(request) ? honest() : '',
          mayWiden: !request.wide && isPart(request),
          usage: { inputTokens: 1_000, outputTokens: model.replyTokens(request) },
        }),
      })
      Object.assign(model, {
        expectedThinking: 1_600,
        replyTokens: ({ answerTokens, wide }: { answerTokens: number; wide?: boolean }) =>
          (answerTokens + 8_000) * (wide ? 4 : 1),
      })
      const limits = { inputTokens: 1e6, concurrency: 8, maxCost, prices }
      const { emit, events } = recorder()
      await writeSummary(await order(files, model, { limits, emit })).catch(() => undefined)
      const calls = events.flatMap((event) => (event.type === 'model-call' ? [event] : []))
      const spent = calls.reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + 10 * outputTokens, 0) / 1e6
      expect(spent, `${maxCost}`).toBeLessThanOrEqual(maxCost)
      made.set(maxCost, calls.length)
    }
    expect(made.get(1)).toBeGreaterThan(3)
    expect(made.get(3)).toBeGreaterThan(3)
  })
})
