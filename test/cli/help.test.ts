// Each command explains itself for nothing, and refuses what it does not know before it does anything.
import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startServer } from '../../src/emulators/faulty-server.js'
import { root, runProgram } from '../support/run-program.js'

const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> }
const commands = Object.entries(scripts).flatMap(([name, script]) => {
  const file = /ts-loader\.mjs (src\/(?:cli|benchmarks|service)\/\S+\.ts)/.exec(script)?.[1]
  return file === undefined ? [] : [{ name, file }]
})

let requests = 0
let cloud: Awaited<ReturnType<typeof startServer>>
beforeAll(async () => {
  cloud = await startServer('a cloud', () => {
    requests += 1
    return { status: 500 }
  })
})
afterAll(() => cloud?.close())

/** Settings with which a command that starts its work would ask this server. */
const run = (file: string, ...words: string[]) =>
  runProgram(file, words, {
    E2B_API_KEY: 'e2b_0000000000000000000000000000000000000000',
    E2B_API_URL: cloud.url,
    DRIVE9_API_KEY: 'key',
    DRIVE9_SERVER: cloud.url,
    LLM_API_KEY: 'key',
    LLM_BASE_URL: cloud.url,
    LLM_MODEL: 'a-model',
    DRIVE9_BINARY_URL: `${cloud.url}/drive9`,
    DRIVE9_BINARY_SHA256: '0'.repeat(64),
  })

const built = () => (existsSync(join(root, 'dist')) ? statSync(join(root, 'dist')).ctimeMs : 0)

test('every program of src/cli and src/benchmarks, and the server, is an npm script', () => {
  const programs = globSync('src/{cli,benchmarks}/*.ts', { cwd: root }).filter((file) =>
    /^await runCommand\(/m.test(readFileSync(join(root, file), 'utf8')),
  )
  const server = 'src/service/server/main.ts'
  expect([...programs, server].sort()).toEqual(commands.map(({ file }) => file).sort())
})

const benches = ['workflows', 'action', 'service', 'reach', 'survey', 'find', 'history', 'ripples']

test('each command says with --help what it does, its options, an example and what it costs', async () => {
  const before = { requests, built: built() }
  const { code, stdout, stderr } = await run('test/cli/help-program.ts', ...commands.map(({ file }) => file))
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const printed = JSON.parse(stdout) as Record<string, { code?: number; stdout: string; stderr: string }>
  for (const { name, file } of commands) {
    const help = printed[file]!
    expect({ code: help.code, stderr: help.stderr }, name).toEqual({ code: undefined, stderr: '' })
    expect(help.stdout.split('\n')[0]).toMatch(new RegExp(`^Usage: npm run ${name}( |$)`))
    expect(help.stdout, name).toMatch(/\nOptions:\n {2}--/)
    expect(help.stdout, name).toMatch(new RegExp(`\nExample: npm run ${name}`))
    expect(help.stdout, name).toMatch(/\nCost: \S/)
    expect(help.stdout.split('\n').filter((line) => line.length > 150)).toEqual([])
  }
  for (const part of benches) expect(printed['src/benchmarks/index.ts']!.stdout).toContain(`\n  ${part} `)
  expect({ requests, built: built() }).toEqual(before)
})

// All of them read their words with `runCommand`, which the first test checks.
const some = commands.filter(({ name }) => ['ask', 'prune', 'bench'].includes(name))

test.each(some)('$name refuses an option it does not know', async ({ name, file }) => {
  const before = { requests, built: built() }
  const { code, stdout, stderr } = await run(file, '--bogus')
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toContain("Unknown option '--bogus'")
  expect(stderr).toContain(`Usage: npm run ${name}`)
  expect({ requests, built: built() }).toEqual(before)
})
