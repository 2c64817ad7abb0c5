// The clone token reaches the git host in two ways: a header that E2B adds outside the sandbox, or the environment of git inside it. A control
// plane may accept the rule for the header and never apply it, as the emulator does.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { summarise } from '../../../src/handoff/workflows/summarise/summarise-commit.js'
import { type LocalStack, startLocalStack } from '../../support/local-stack.js'
import { makeRepository, type TestRepository } from '../../support/repository.js'

const never = new AbortController().signal
const token = 'ghs_reads_this_repository_and_nothing_else'
let repository: TestRepository
let stack: LocalStack
let folder: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'git-'))
  chmodSync(folder, 0o755)
  repository = await makeRepository({ 'README.md': '# Closed\n' })
  stack = await startLocalStack({
    repositories: { 'octo/closed': repository.directory, 'octo/plain': repository.directory },
    cloneToken: token,
    clouds: { sandboxes: { path: [folder], account: { headerTransforms: true } } },
  })
  // For the sandbox, git.example is the local git host behind TLS on the usual port.
  const script = `#!/bin/bash
there=${stack.remote.url}
export GIT_CONFIG_KEY_0="\${GIT_CONFIG_KEY_0/https:\\/\\/git.example/$there}"
exec /usr/bin/git "\${@/https:\\/\\/git.example/$there}"
`
  writeFileSync(join(folder, 'git'), script, { mode: 0o755 })
})

afterAll(async () => {
  await stack?.close()
  await repository?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

const commandsWithToken = () =>
  stack.clouds.sandboxes.sandboxes.map(({ commands }) =>
    commands.some(({ environment }) => environment['HANDOFF_CLONE_TOKEN'] === token),
  )
const rules = () => stack.clouds.sandboxes.sandboxes.map(({ networks }) => Object.keys(networks[0]?.rules ?? {}))
const notices = () => stack.events.filter((event) => event.type === 'notice').map(({ text }) => text)

test('a header that is never added costs one more sandbox, which has the token in the environment of git', async () => {
  const before = stack.clouds.sandboxes.sandboxes.length
  const commit = { ...stack.commit('octo/closed', repository.head), cloneUrl: 'https://git.example/octo/closed.git' }
  const { handoff } = await summarise({ commit, attempt: 'injected', cloneToken: token }, stack.context, never)
  expect(handoff.artifacts.map(({ path }) => path)).toContain('project/closed.git.tar')
  expect(rules().slice(before)).toEqual([['git.example'], []])
  expect(commandsWithToken().slice(before)).toEqual([false, true])
  expect(stack.clouds.sandboxes.sandboxes.every(({ state }) => state === 'gone')).toBe(true)
  expect(notices().join('\n')).toContain('E2B accepted the clone token as a header, but git.example did not receive it')
})

test('a header is not asked for where it could not be added: without TLS, or on another port', async () => {
  const before = stack.clouds.sandboxes.sandboxes.length
  const commit = stack.commit('octo/plain', repository.head)
  await summarise({ commit, attempt: 'plain', cloneToken: token }, stack.context, never)
  expect(rules().slice(before)).toEqual([[]])
  expect(commandsWithToken().slice(before)).toEqual([true])
})
