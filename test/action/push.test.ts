// Pushes and pull requests, from the built dist: what the job learns, what people see, what was asked of whom.
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type ActionStack, type Step, startActionStack } from './kit.js'
import { watchStory } from './story.js'

let stack: ActionStack
let first: Step
let story: ReturnType<ReturnType<typeof watchStory>>

beforeAll(async () => {
  stack = await startActionStack({
    files: [
      {
        'README.md': '# Tools\n\nTools that refresh tokens.\n',
        'src/token.ts': 'export const refreshToken = (age: number) => age > 3600\n',
        'package-lock.json': '{}\n',
      },
      { 'src/other.ts': 'export const colour = "green"\n' },
      { 'src/other.ts': 'export const colour = "blue"\n' },
      { 'src/other.ts': 'export const colour = "red"\n' },
      { 'src/other.ts': 'export const colour = "grey"\n' },
    ],
    refs: { 'refs/pull/7/head': 3, 'refs/pull/9/head': 4 },
  })
  stack.github.addPull(stack.onGitHub, { number: 7, head: { ref: 'topic', sha: stack.repository.commits[1]! } })
  const reported = watchStory(stack)
  first = await stack.step({
    event: stack.push({ sha: commit(0) }),
    inputs: { 'llm-price-input': '2', 'llm-price-output': '8' },
  })
  story = reported(first)
})

afterAll(() => stack?.close())
afterEach(() => stack.github.server.clearRules())

const commit = (index: number) => stack.repository.commits[index]!
const machines = () => stack.clouds.sandboxes.sandboxes.length
test('a first push leaves a sealed run and tells the job of it', async () => {
  expect(story).toMatchSnapshot()
  const { outputs } = first
  expect(outputs['run']).toMatch(new RegExp(`^${commit(0)}-\\d+-1-[a-z0-9]{8}$`))
  expect(Number(outputs['cost'])).toBeGreaterThan(0)
  const handoff = JSON.parse(await readFile(outputs['handoff-file']!, 'utf8'))
  expect(handoff).toMatchObject({
    run: outputs['run'],
    commit: commit(0),
    repositoryId: String(stack.onGitHub.id),
    requestedBy: {
      actor: 'writer',
      workflowRun: expect.stringMatching(/\/octo\/tools\/actions\/runs\/70\d\d\/attempts\/1$/),
    },
  })
  expect(await readFile(outputs['summary-file']!, 'utf8')).toContain('## What it is and for whom')
  const sealed = stack.clouds.drive.readFile(`${outputs['run-directory']}/analysis/handoff.json`)!
  expect(outputs['handoff-digest']).toBe(`sha256:${createHash('sha256').update(sealed).digest('hex')}`)
})

test('its job summary has the four sections, what was read and left out, and how to ask', () => {
  for (const heading of [
    'What it is and for whom',
    'How it is built',
    'Where to start reading',
    'How it was made',
    'Ask',
  ]) {
    expect(first.summary).toMatch(new RegExp(`^#+ ${heading}`, 'm'))
  }
  expect(first.summary).toMatch(/\n\nThe summary cost \$0\.\d{4}, and 1 of 3 files was not read whole\.\n\n/)
  expect(first.summary).toMatch(/\| left out \| 1 \| 1 lock file \|/)
  expect(first.summary).toContain('Written by `offline-extractive`; every link was checked.')
  expect(first.summary).toMatch(/\| Cost \| \$\d/)
})

test('the same push again is paid for once', async () => {
  const before = { machines: machines(), prompts: stack.clouds.model.prompts.length }
  const reported = watchStory(stack)
  const step = await stack.step({ event: stack.push({ sha: commit(0) }) })
  expect(reported(step)).toMatchSnapshot()
  expect(step.outputs).toMatchObject({ run: first.outputs['run'], reused: 'true' })
  expect(step.notices).toEqual([])
  expect({ machines: machines(), prompts: stack.clouds.model.prompts.length }).toEqual(before)
})

test('a run of the same commit with other settings is reported, and the notice names force', async () => {
  const inputs = { exclude: 'src/**', form: 'plain', 'llm-model': 'another-model' }
  const step = await stack.step({ event: stack.push({ sha: commit(0) }), inputs })
  expect(step).toMatchObject({ errors: [], outputs: { run: first.outputs['run'], reused: 'true' } })
  for (const otherwise of ['other patterns in include or exclude', 'form: tar', 'the model “offline-extractive”'])
    expect(step.notices).toEqual([expect.stringContaining(otherwise)])
  expect(step.notices[0]).toContain('force: true')
  expect(step.summary).toContain('other settings')
})

test('the step after the job has nothing to do and says nothing', async () => {
  const step = await stack.post(first)
  expect(step).toMatchObject({ code: 0, lines: [], quoted: [], outputs: {} })
  expect(step.commands.filter(({ name }) => name !== 'add-mask')).toEqual([])
})

test('a push builds on the one before', async () => {
  const step = await stack.step({ event: stack.push({ sha: commit(1), ref: 'refs/heads/next', before: commit(0) }) })
  expect(step.errors).toEqual([])
  const handoff = JSON.parse(await readFile(step.outputs['handoff-file']!, 'utf8')) as { basedOn?: string }
  expect(handoff.basedOn).toBe(first.outputs['run'])
})

test('a pull request from a fork is left alone, and a maintainer learns what to do', async () => {
  const before = machines()
  const fork = {
    head: { sha: commit(4), ref: 'patch', repo: { id: 99 } },
    base: { ref: 'main', repo: { id: stack.onGitHub.id } },
  }
  const event = stack.pull(9, commit(4), { pull_request: { number: 9, ...fork } })
  const step = await stack.step({ event, without: ['e2b-api-key', 'drive9-api-key', 'llm-api-key'] })
  expect(step).toMatchObject({ code: 0, errors: [], outputs: {} })
  expect(step.notices).toEqual([expect.stringContaining('A maintainer can push its branch to this repository')])
  const target = await stack.step({ event: { ...event, name: 'pull_request_target' } })
  expect(target.code).toBe(1)
  expect(target.errors).toEqual([expect.stringContaining('set allow-untrusted-head: true')])
  expect(machines()).toBe(before)
  const reported = await stack.step({
    event: { ...event, name: 'pull_request_target' },
    inputs: { 'allow-untrusted-head': 'true' },
  })
  expect(reported).toMatchObject({ errors: [], outputs: { commit: commit(4) } })
})

test('a missing fork repository is a fork', async () => {
  const gone = { head: { sha: commit(4), ref: 'patch', repo: null }, base: { ref: 'main', repo: null } }
  const step = await stack.step({ event: stack.pull(9, commit(4), { pull_request: { number: 9, ...gone } }) })
  expect(step).toMatchObject({ code: 0, outputs: {} })
  expect(step.notices).toHaveLength(1)
})

test('all missing inputs are named together, in the words of the workflow', async () => {
  const reported = watchStory(stack)
  const step = await stack.step({ event: stack.push(), without: ['e2b-api-key', 'llm-api-key', 'llm-model'] })
  expect(reported(step)).toMatchSnapshot()
  expect(step.errors).toEqual([
    expect.stringContaining('These inputs are missing: e2b-api-key, llm-api-key, llm-model.'),
  ])
})

test('wrong settings are one clear error each, in the words of the workflow', async () => {
  const wrong = [
    ['llm-context-tokens', 'many', 'llm-context-tokens is not a whole number above zero.'],
    ['drive9-server', 'ftp://x', 'drive9-server is not an http(s) address without credentials.'],
  ] as const
  for (const [input, value, message] of wrong) {
    const step = await stack.step({ event: stack.push(), inputs: { [input]: value } })
    expect(step.code).toBe(1)
    expect(step.errors).toEqual([expect.stringContaining(message)])
  }
})

test('another event is nothing to do', async () => {
  const reported = watchStory(stack)
  const step = await stack.step({ event: { name: 'star', payload: {} } })
  expect(step).toMatchObject({ code: 0, errors: [], outputs: {} })
  expect(reported(step).requests).toEqual([])
})

test('two jobs of one workflow run may summarise the same commit, each in a directory of its own', async () => {
  const event = stack.push({ sha: commit(2), ref: 'refs/heads/matrix' })
  const both = await Promise.all([1, 2].map(() => stack.step({ event, runId: '7900', inputs: { force: 'true' } })))
  expect(both.map((step) => step.errors)).toEqual([[], []])
  expect(new Set(both.map((step) => step.outputs['run'])).size).toBe(1)
  const begun = both.map(({ raw }) => /^New run: (\S+)/m.exec(raw)?.[1])
  expect(new Set(begun).size).toBe(2)
  for (const run of begun) expect(run).toMatch(new RegExp(`^${commit(2)}-7900-1-[a-z0-9]{8}$`))
})

test('a branch whose name would be a command is only a name', async () => {
  const ref = 'refs/heads/a##[add-mask]b%0A::error::c'
  const step = await stack.step({ event: stack.push({ sha: commit(0), ref }) })
  expect(step.errors).toEqual([])
  expect(step.masks).not.toContain('b%0A::error::c')
})
