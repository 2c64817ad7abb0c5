// The image, without an engine: what its files say is looked at, and the last stage is laid out and started as they say.
import { execFile, spawn } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { until } from '../support/until.js'
import { type Deployment, deploy, name, post } from './kit.js'

const root = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

interface Instruction {
  word: string
  rest: string
}

const instructions: Instruction[] = read('Dockerfile')
  .replace(/\\\n/g, ' ')
  .split('\n')
  .filter((line) => line.trim() !== '' && !line.startsWith('#'))
  .map((line) => ({ word: line.split(' ')[0]!, rest: line.slice(line.indexOf(' ') + 1).trim() }))
const starts = instructions.flatMap(({ word }, index) => (word === 'FROM' ? [index] : []))
const stages = starts.map((start, index) => instructions.slice(start, starts[index + 1]))
const last = stages.at(-1)!
const restOf = (word: string, of = last) => of.filter((one) => one.word === word).map(({ rest }) => rest)
const allowed = read('.dockerignore')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))

let here: Deployment
let image: string

beforeAll(async () => {
  here = await deploy({ quickFinds: true, withoutFunctions: true })
  image = mkdtempSync(join(tmpdir(), 'image-'))
  for (const copied of restOf('COPY')) {
    const words = copied.split(/\s+/)
    if (words[0]!.startsWith('--from=')) continue
    const to = words.pop()!
    for (const from of words) copyAllowed(from, to)
  }
  symlinkSync(join(root, 'node_modules'), join(image, 'node_modules'))
}, 200_000)

afterAll(async () => {
  rmSync(image, { recursive: true, force: true })
  await here?.close()
})

/** As the engine does it: what is not sent to the build cannot be copied. */
function copyAllowed(from: string, to: string): void {
  const target = to.endsWith('/') ? join(image, to, from) : join(image, to)
  const sent = allowed.filter((line) => line.startsWith('!')).map((line) => line.slice(1))
  const parts = sent.filter((path) => path === from || path.startsWith(`${from}/`))
  expect([from, parts.length > 0]).toEqual([from, true])
  for (const path of parts)
    cpSync(join(root, path), path === from ? target : join(target, path.slice(from.length + 1)), { recursive: true })
}

test('the base is Node’s official image in the version that this project is tested with', () => {
  const { devDependencies, engines } = JSON.parse(read('package.json'))
  const bases = stages.map(([from]) => from!.rest.replace(/ AS \w+$/, ''))
  expect(bases.length).toBeGreaterThan(1)
  expect(new Set(bases)).toEqual(new Set([`node:${devDependencies.node}-slim`]))
  expect(engines.node).toContain(`^${devDependencies.node.split('.')[0]}.`)
})

test('it runs as an ordinary user, and everything it runs belongs to root', () => {
  expect(restOf('USER')).toEqual(['node'])
  const after = last.slice(last.findIndex(({ word }) => word === 'USER') + 1).map(({ word }) => word)
  expect(after).toEqual(['HEALTHCHECK', 'CMD'])
  expect(restOf('COPY').filter((rest) => rest.includes('--ch'))).toEqual([])
})

test('no secret and no whole folder of the repository gets into it', () => {
  expect(allowed[0]).toBe('*')
  const sent = allowed.slice(1)
  expect(
    sent.filter(
      (line) =>
        !/^!(?:api|package(?:-lock)?\.json|\.npmrc|vercel\.json|dist\/(?:web|[a-z-]+\.js(?:on)?)|src\/(?:handoff|service|build\/ts-loader\.mjs))$/.test(
          line,
        ),
    ),
  ).toEqual([])
  expect(instructions.filter(({ word }) => word === 'ADD' || word === 'ARG')).toEqual([])
  expect(instructions.filter(({ word, rest }) => word === 'COPY' && /^\.\/? |\*/.test(rest))).toEqual([])
  expect(restOf('ENV')).toEqual(['HOST=0.0.0.0 PORT=3000'])
  expect(read('.npmrc')).not.toMatch(/auth|token|password|\/\//i)
  expect(restOf('RUN', stages[0])).toEqual(['npm ci --omit=dev --ignore-scripts --no-audit --no-fund'])
})

test('Compose builds it, publishes it on this machine only, and waits longer than the server takes to stop', () => {
  const { services } = parse(read('compose.yaml'))
  expect(Object.keys(services)).toEqual(['handoff'])
  const { handoff } = services
  expect(handoff).toMatchObject({ build: '.', env_file: '.env', read_only: true, cap_drop: ['ALL'], init: true })
  expect(handoff).not.toHaveProperty('image')
  expect(handoff.security_opt).toEqual(['no-new-privileges:true'])
  expect(handoff.ports).toEqual([`127.0.0.1:3000:${handoff.environment.PORT}`])
  expect(Number.parseInt(handoff.stop_grace_period, 10)).toBeGreaterThan(
    Number(handoff.environment.HANDOFF_STOP_SECONDS),
  )
})

test('what is laid out as the last stage says starts, answers, is healthy, and stops', async () => {
  for (const absent of ['src/action', 'src/emulators', 'src/cli', 'test', 'dist/index.js'])
    expect([absent, existsSync(join(image, absent))]).toEqual([absent, false])
  const [command, ...rest] = JSON.parse(restOf('CMD').at(-1)!) as string[]
  expect(command).toBe('node')
  // The system chooses a free port.
  const environment = { ...here.environment, PATH: process.env['PATH'] ?? '', HOST: '127.0.0.1', PORT: '0' }
  const child = spawn(process.execPath, rest, { cwd: image, env: environment, stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text) => (output += text))
    const port = await until('it listens', () => /^handoff listens at .*, port (\d+): /m.exec(output)?.[1], 60_000)
    const url = `http://127.0.0.1:${port}`
    const question = { repository: name, run: here.run.run, question: 'What does the image answer?' }
    expect(await post(url, question)).toMatchObject({ status: 200, body: { status: 'done' } })
    expect(await (await fetch(url)).text()).toContain('<html')
    const check = JSON.parse(/CMD (\[.*\])$/.exec(restOf('HEALTHCHECK')[0]!)![1]!) as string[]
    const healthy = (PORT: string) => promisify(execFile)(process.execPath, check.slice(1), { env: { PORT } })
    await healthy(port)
    await expect(healthy('1')).rejects.toMatchObject({ code: 1 })
  } finally {
    child.kill('SIGTERM')
  }
  const code = await new Promise((resolve) => child.once('exit', resolve))
  expect(code).toBe(0)
})
