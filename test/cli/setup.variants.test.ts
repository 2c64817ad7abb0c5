// `npm run setup` on an E2B account without templates: from keys to a workflow, and again when all of it is done.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { parse } from 'yaml'
import { type Publisher, startPublisher } from '../../src/emulators/drive9/publisher.js'
import { type Clouds, startClouds } from '../../src/emulators/start-all.js'
import { readDescription } from '../action/kit.js'
import { compileCache, root, runProgram } from '../support/run-program.js'

let clouds: Required<Clouds>
let publisher: Publisher
let folder: string
let file: string

beforeAll(async () => {
  publisher = await startPublisher()
})

afterAll(() => publisher?.close())

beforeEach(async () => {
  clouds = (await startClouds({ sandboxes: { templates: [] } })) as Required<Clouds>
  folder = mkdtempSync(join(tmpdir(), 'setup-'))
  file = join(folder, '.env')
  return async () => {
    rmSync(folder, { recursive: true })
    await clouds.close()
  }
})

const settings = (): Record<string, string> => ({ ...clouds.settings, ...publisher.settings })
const setUp = (environment: Record<string, string>, ...words: string[]) =>
  runProgram('src/cli/setup.ts', ['--file', file, ...words], environment)
const keysOf = () => ['E2B_API_KEY', 'DRIVE9_API_KEY', 'LLM_API_KEY'].map((name) => settings()[name]!)
const built = () => clouds.sandboxes.templates.flatMap(({ builds }) => builds).length

test('keys become a file, a template, a passed test and a workflow; the second time all of it is there', async () => {
  writeFileSync(file, '# mine\nOTHER=1\nE2B_API_KEY="old"\n')
  chmodSync(file, 0o644)
  const first = await setUp(settings(), '--yes', '--repository', 'acme/tools')
  expect(first).toMatchObject({ code: 0, stderr: '' })
  expect(first.stdout).toMatch(/✓ E2B_API_KEY: E2B accepts it[\s\S]*✓ DRIVE9_API_KEY[\s\S]*✓ LLM_API_KEY/)
  expect(first.stdout).toMatch(/E2B builds handoff-[0-9a-f]{12}[\s\S]*✓ handoff-[0-9a-f]{12} is ready after/)
  expect(first.stdout).toMatch(/✓ sandbox 1: mount, write, drain[\s\S]*✓ sandbox 2: mount, read/)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const written = readFileSync(file, 'utf8')
  expect(written).toMatch(/^# mine\nOTHER=1\nE2B_API_KEY=e2b_/)
  expect(written).toContain(`\nLLM_MODEL=${clouds.model.name}\n`)
  for (const key of keysOf()) {
    expect(written).toContain(key)
    expect(first.stdout).not.toContain(key)
  }
  expect(first.stdout).toContain(`sed -n 's/^E2B_API_KEY=//p' ${file} | gh secret set E2B_API_KEY --repo acme/tools`)

  const before = built()
  const again = await setUp({}, '--yes')
  expect(again).toMatchObject({ code: 0, stderr: '' })
  expect(again.stdout).toContain('has all of it already')
  expect(again.stdout).toMatch(/✓ handoff-[0-9a-f]{12} is there already/)
  expect(built()).toBe(before)
  expect(readFileSync(file, 'utf8')).toBe(written)

  const yaml = again.stdout.slice(again.stdout.indexOf('on:\n'))
  const { jobs } = parse(yaml) as { jobs: Record<string, { steps: { with?: Record<string, string> }[] }> }
  const inputs = Object.values(jobs).flatMap(({ steps }) => steps.flatMap((step) => Object.entries(step.with ?? {})))
  const { inputs: known } = await readDescription()
  expect(inputs.filter(([name]) => !(name in known))).toEqual([])
  expect(inputs).toContainEqual(['llm-model', clouds.model.name])
  expect(inputs).toContainEqual(['e2b-api-url', clouds.sandboxes.url])
})

test('all keys that are missing are named at once, with where each is had, and nothing is written', async () => {
  const { code, stdout, stderr } = await setUp({}, '--yes')
  expect(code).toBe(1)
  expect(stderr).toContain('These keys are missing: E2B_API_KEY, DRIVE9_API_KEY, LLM_API_KEY.')
  for (const place of ['console.e2b.dev', 'drive9 create', 'platform.openai.com']) expect(stderr).toContain(place)
  expect(stdout).not.toContain('✓')
  expect(() => readFileSync(file)).toThrow(/ENOENT/)
})

test.each([
  ['E2B_API_KEY', 'E2B does not accept the key'],
  ['DRIVE9_API_KEY', 'DRIVE9_API_KEY'],
  ['LLM_API_KEY', 'LLM_API_KEY'],
])('a wrong %s is reported, not shown and not written', async (name, message) => {
  const { code, stdout, stderr } = await setUp({ ...settings(), [name]: `secret_of_${name}` }, '--yes')
  expect(code).toBe(1)
  expect(stderr).toContain(message)
  expect(stdout + stderr).not.toContain(`secret_of_${name}`)
  expect(() => readFileSync(file)).toThrow(/ENOENT/)
})

/** Types at the prompts of a terminal that `script` makes, and returns all that the terminal showed. */
async function typeAt(
  environment: Record<string, string>,
  answers: [prompt: string, answer: string][],
): Promise<string> {
  const line = `'${process.execPath}' --import ./src/build/ts-loader.mjs src/cli/setup.ts --file '${file}'`
  const child = spawn('script', ['-qec', line, '/dev/null'], {
    cwd: root,
    env: {
      PATH: process.env['PATH'],
      TERM: 'xterm',
      SHELL: '/bin/sh',
      NODE_COMPILE_CACHE: compileCache,
      ...environment,
    },
  })
  let shown = ''
  let seen = 0
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text
    const [next] = answers
    const place = next ? shown.indexOf(next[0], seen) : -1
    if (!next || place < 0) return
    seen = place + next[0].length
    answers.shift()
    child.stdin.write(`${next[1]}\r`)
  })
  await new Promise((resolve) => child.once('close', resolve))
  return shown
}

test.skipIf(spawnSync('script', ['--version']).status !== 0)(
  'at a terminal it asks for each key without showing it, and once more for one that is refused',
  async () => {
    const { E2B_API_KEY, DRIVE9_API_KEY, LLM_API_KEY, LLM_MODEL, ...addresses } = settings()
    const shown = await typeAt(addresses, [
      ['E2B (not shown): ', 'secret_of_typed'],
      ['E2B (not shown): ', E2B_API_KEY!],
      ['drive9 (not shown): ', DRIVE9_API_KEY!],
      ['service (not shown): ', LLM_API_KEY!],
      ['Address of the model’s service', ''],
      ['Name of the model', LLM_MODEL!],
    ])
    expect(shown).toMatch(/✗ .*E2B does not accept the key[\s\S]*✓ E2B_API_KEY[\s\S]*✓ LLM_API_KEY[\s\S]*gh secret set/)
    for (const secret of [...keysOf(), 'secret_of_typed']) expect(shown).not.toContain(secret)
    for (const key of keysOf()) expect(readFileSync(file, 'utf8')).toContain(key)
  },
)

test('a model’s service that is not there is reported', async () => {
  const takeBack = clouds.model.rule({ method: 'HEAD', path: /models/, fault: { kind: 'reset' } })
  const { code, stderr } = await setUp(settings(), '--yes').finally(takeBack)
  expect(code).toBe(1)
  expect(stderr).toContain('cannot be reached')
  expect(stderr).toContain('LLM_BASE_URL')
})

test.each([
  ['GET', /^\/templates\/aliases\//, 'Looking for the template'],
  ['POST', /^\/v3\/templates$/, 'Building the template'],
  ['POST', /^\/v2\/templates\/.+\/builds\//, 'Building the template'],
  ['GET', /^\/templates\/.+\/status/, 'Building the template'],
])('when E2B fails at %s %s that is reported, and the keys are kept', async (method, path, doing) => {
  const takeBack = clouds.sandboxes.rule({ method, path, fault: { kind: 'answer', status: 500, body: '{}' } })
  // A pin is another template, which is not there yet.
  const pinned = { ...settings(), DRIVE9_BINARY_SHA256: createHash('sha256').update(path.source).digest('hex') }
  const { code, stderr } = await setUp(pinned, '--yes').finally(takeBack)
  expect(code).toBe(1)
  expect(stderr).toContain(doing)
  expect(stderr).not.toContain('    at ')
  expect(readFileSync(file, 'utf8')).toContain(keysOf()[0])
})

test('when E2B does not tell of the template’s builds that is reported', async () => {
  expect((await setUp(settings(), '--yes')).code).toBe(0)
  const fault = { kind: 'answer', status: 503, body: '{}' } as const
  const takeBack = clouds.sandboxes.rule({ method: 'GET', path: /^\/templates\/[^/]+$/, fault })
  const { code, stderr } = await setUp({}, '--yes').finally(takeBack)
  expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('Looking for the template') })
})

test('a key with more around it is refused before it is sent', async () => {
  const { code, stderr } = await setUp({ ...settings(), E2B_API_KEY: '"e2b_quoted"' }, '--yes')
  expect(code).toBe(1)
  expect(stderr).toContain('E2B_API_KEY has spaces or quotes')
})
