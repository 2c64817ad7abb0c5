// Both workflows, and the demo, with each model that the local service plays. Each ends in a summary and an answer, or in the sentence that
// says what to set. The waits of the slow models are short here.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { localModels } from '../src/emulators/model/models.js'
import { programFolder } from '../src/emulators/start-all.js'
import type { ProgramRecord } from '../src/handoff/domain/sandbox-protocol-decoder.js'
import {
  type AnswerResult,
  type AppContext,
  answerQuestion,
  type SummariseResult,
  summarise,
} from '../src/handoff/index.js'
import { type LocalStack, startLocalStack } from './support/local-stack.js'
import { recordOutput } from './support/record-program.js'
import { refusal } from './support/refusal.js'
import { type Files, makeRepository, type TestRepository } from './support/repository.js'
import { runProgram } from './support/run-program.js'
import { ampleWaitMs, type ScriptedProgram, startScriptedProgram } from './support/scripted-program.js'

const name = 'octo/clocks'
const question = 'How does tellTime know the zone?'

/** Long enough that a summary takes several requests at every size of context. */
function files(): Files {
  const helper = (part: number, index: number) =>
    [
      `/** Moves the hands of clock ${part}.${index} to the hour that its zone has. */`,
      `export function turnHands${part}x${index}(hour: number, minute: number): string {`,
      `  if (hour > 23) throw new RangeError('clock ${part}.${index} has no hour ' + hour)`,
      `  return [hour, minute, 'part ${part}', 'hand ${index}'].join(':')`,
      '}',
    ].join('\n')
  const parts = Array.from({ length: 24 }, (_, part) => [
    `src/part${part}/hands.ts`,
    Array.from({ length: 24 }, (_, index) => helper(part, index)).join('\n\n'),
  ])
  return {
    'README.md': '# Clocks\n\nTells the time in every zone.\n',
    'package.json': '{ "name": "clocks", "scripts": { "test": "node --test" } }\n',
    'src/clock.ts':
      '/** Tells the time of a zone. */\nexport function tellTime(zone: string): string {\n  return new Date().toLocaleString("en", { timeZone: zone })\n}\n',
    ...Object.fromEntries(parts),
  }
}

let stack: LocalStack
let repository: TestRepository
let sandboxProgram: ScriptedProgram

beforeAll(async () => {
  ;[repository, sandboxProgram] = await Promise.all([makeRepository(files()), startScriptedProgram()])
  stack = await startLocalStack({
    repositories: { [name]: repository.directory },
    clouds: { model: { waitMs: 50 }, sandboxes: { path: [sandboxProgram.folder, programFolder] } },
  })
  await recordPrograms()
})

/** Runs both workflows with the real programs once. They read the same for each model, so what they store and print is repeated from then on. */
async function recordPrograms(): Promise<void> {
  const records: ProgramRecord[][] = []
  const context = stack.makeContext()
  const { sandboxes } = context.ports
  const recorded: typeof sandboxes = {
    ...sandboxes,
    open: (request, signal) => {
      const ofThis: ProgramRecord[] = []
      records.push(ofThis)
      return recordOutput(sandboxes, (record) => ofThis.push(record)).open(request, signal)
    },
  }
  const { summary } = await both({ ...context, ports: { ...context.ports, sandboxes: recorded } })
  const [summarised = [], find = []] = records
  const stored = summarised.filter((record) => record.type === 'stored')
  const bytesOf = (path: string) => stack.clouds.drive.readFile(`${summary.directory}/${path}`)!
  const stores = stored.map(({ path }) => ({ path, bytes: bytesOf(path) }))
  sandboxProgram.can(() => ({ files: stores, summarise: summarised, find }))
}

afterAll(async () => {
  await stack?.close()
  await sandboxProgram?.[Symbol.asyncDispose]()
  await repository?.[Symbol.asyncDispose]()
})

interface Done {
  summary: SummariseResult
  answer: AnswerResult
  /** What the model was sent for the summary. */
  prompts: LocalStack['clouds']['model']['prompts']
}

let attempts = 0
const finished = new Map<string, Promise<Done>>()

/** Runs both workflows once with each model and its settings; every test of that model looks at the same run. */
function once(model: string): Promise<Done> {
  const known = finished.get(model) ?? withModel({ LLM_MODEL: model, ...settingsFor[model] })
  finished.set(model, known)
  return known
}

const withModel = (settings: Record<string, string>) =>
  both({ ...stack.makeContext(settings), program: sandboxProgram.program(ampleWaitMs) })

async function both(context: AppContext): Promise<Done> {
  const commit = stack.commit(name, repository.head)
  const before = stack.clouds.model.prompts.length
  attempts += 1
  const never = new AbortController().signal
  const summary = await summarise({ commit, attempt: `models-${attempts}`, force: true }, context, never)
  const prompts = stack.clouds.model.prompts.slice(before)
  const { repository: where, cloneUrl } = commit
  const asked = { repository: where, cloneUrl, name: { run: summary.run }, question: { text: question, asker: 'test' } }
  return { summary, answer: await answerQuestion(asked, context, never), prompts }
}

const promptsOf = (model: string) => stack.clouds.model.prompts.filter((prompt) => prompt.model === model)

/** What a model needs to know about. */
const settingsFor: Record<string, Record<string, string>> = {
  'offline-small-context': { LLM_CONTEXT_TOKENS: '8192' },
  'offline-small-context-llama': { LLM_CONTEXT_TOKENS: '8192' },
  'offline-cutting': { LLM_CONTEXT_TOKENS: '4096' },
}

const names = localModels.map((model) => model.name)

describe.each(names)('%s', (model) => {
  test('writes a summary and an answer whose citations hold', async () => {
    const { summary, answer } = await once(model)
    expect(summary.handoff.model).toMatchObject({ name: model })
    expect(summary.summary).toContain('Clocks')
    expect(summary.summary.match(/^## /gm)?.length).toBeGreaterThanOrEqual(4)
    expect(answer.record).toMatchObject({ status: 'done', model, unanswered: false })
    expect(answer.record.text).toContain('tellTime')
    expect(answer.record.citations.length).toBeGreaterThan(0)
    expect(answer.record.citations.every((citation) => citation.verified)).toBe(true)
    expect(promptsOf(model).some((prompt) => prompt.task === 'part')).toBe(true)
  })
})

describe('a context that is smaller than the settings say', () => {
  test.each(['offline-small-context', 'offline-small-context-llama'])(
    '%s: the refusal names the setting',
    async (model) => {
      const error = await refusal(withModel({ LLM_MODEL: model }))
      expect(error.code).toBe('model')
      expect(`${error.message} ${error.next}`).toContain('LLM_CONTEXT_TOKENS')
    },
  )

  test('offline-cutting: a prompt that was cut without a word is noticed, and the setting is named', async () => {
    const error = await refusal(withModel({ LLM_MODEL: 'offline-cutting' }))
    expect(error.code).toBe('model')
    expect(`${error.message} ${error.next}`).toContain('LLM_CONTEXT_TOKENS')
  })
})

describe('a reasoning model', () => {
  test.each(['offline-reasoning', 'offline/gpt-6-luna'])('%s: its thinking is counted', async (model) => {
    const { summary, answer, prompts } = await once(model)
    expect(prompts).not.toEqual([])
    expect(summary.handoff.usage.outputTokens).toBeGreaterThan(prompts.length * 1_500)
    expect(answer.record.usage?.outputTokens).toBeGreaterThan(1_500)
  })

  test('thinks as much as LLM_REASONING_EFFORT says, and still replies', async () => {
    // The run that every test looks at comes first: what it writes into the model's cache is counted.
    await once('offline/gpt-6-luna')
    const { answer } = await withModel({ LLM_MODEL: 'offline/gpt-6-luna', LLM_REASONING_EFFORT: 'high' })
    expect(answer.record.usage?.outputTokens).toBeGreaterThan(3_000)
    expect(answer.record.text).toContain('tellTime')
  })

  test('with too little room for thinking ends in the setting that gives more', async () => {
    const error = await refusal(withModel({ LLM_MODEL: 'offline-reasoning', LLM_MAX_OUTPUT_TOKENS: '1200' }))
    expect(error.code).toBe('model')
    expect(`${error.message} ${error.next}`).toContain('LLM_MAX_OUTPUT_TOKENS')
  })
})

describe('what the service keeps in its cache', () => {
  test('is counted in the answer, and so is its price', async () => {
    const { usage, cost } = (await once('offline/gpt-6-luna')).answer.record
    expect(usage?.cacheWriteTokens).toBe(usage?.inputTokens)
    const { inputTokens = 0, outputTokens = 0 } = usage ?? {}
    expect(cost?.amount).toBeCloseTo((inputTokens * 0.125 + outputTokens * 0.5) / 1_000_000, 6)
  })

  test('is counted in the answer when it is used', async () => {
    await once('offline-caching')
    const { answer } = await withModel({ LLM_MODEL: 'offline-caching' })
    const { inputTokens = 0, cachedInputTokens = 0 } = answer.record.usage ?? {}
    expect(cachedInputTokens).toBeGreaterThan(1_024)
    expect(cachedInputTokens).toBeLessThanOrEqual(inputTokens)
  })
})

// `cli/demo.test.ts` runs the demo with one model.
describe.runIf(process.env['LONG'] === '1')('the demo', () => {
  test.each(names)('ends well with %s', async (model) => {
    const { LLM_BASE_URL, LLM_API_KEY } = stack.clouds.model.settings
    const settings = { LLM_BASE_URL, LLM_API_KEY, LLM_MODEL: model, ...settingsFor[model] }
    const { code, stdout, stderr } = await runProgram(
      'src/cli/demo.ts',
      [repository.directory, question, '--json'],
      settings,
    )
    expect(code, stderr).toBe(0)
    const report = JSON.parse(stdout)
    expect(report.citations.length).toBeGreaterThan(0)
    expect(report.answer).toContain('tellTime')
  })
})
