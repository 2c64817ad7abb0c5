// Processes that answer one request and end. Each is timed from its start until its answer is here: how long it takes to be gone is nobody's wait.
import { spawn } from 'node:child_process'
import { performance } from 'node:perf_hooks'
import { repositoryRoot } from '../program.js'

export interface Cold {
  file: string
  path: string
  body?: unknown
  /** Asked after the first, in the same process. */
  again?: unknown
  token?: string
  environment: Record<string, string>
  /** Instead of a request: packages that are only imported. */
  importing?: string[]
  /** Tells which files were loaded, which takes time itself. */
  listing?: boolean
}

export interface ColdRun {
  wall: number
  load: number
  first: number
  second: number
  status: number
  loaded: string[]
}

const program = `
import { registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'
const given = JSON.parse(process.argv[1])
const loaded = []
if (given.listing) registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context) } })
const began = performance.now()
for (const word of given.importing ?? []) await import(word)
const made = given.importing ? undefined : await import(pathToFileURL(given.file))
const load = performance.now() - began
const headers = { 'content-type': 'application/json', ...(given.token ? { authorization: 'Bearer ' + given.token } : {}) }
let status = 0
const send = async (body) => {
  const at = performance.now()
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body), headers }
  const response = await made.default.fetch(new Request('http://bench' + given.path, init))
  await response.text()
  status = response.status
  return performance.now() - at
}
console.log = () => {}
const first = made ? await send(given.body) : 0
const second = given.again ? await send(given.again) : 0
process.stdout.write('\\n' + JSON.stringify({ load, first, second, status, loaded }), () => process.exit(0))
`

export function coldRun(subject: Cold): Promise<ColdRun> {
  const { environment, ...given } = subject
  const began = performance.now()
  const child = spawn(process.execPath, ['--input-type=module', '-e', program, JSON.stringify(given)], {
    cwd: repositoryRoot,
    env: { PATH: process.env['PATH'] ?? '', ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  let wall = 0
  child.stdout.on('data', (piece) => {
    text += String(piece)
    wall ||= performance.now() - began
  })
  return new Promise((resolve, reject) => {
    child.on('close', () => {
      try {
        resolve({ wall, ...(JSON.parse(text.trim().split('\n').at(-1) ?? '') as Omit<ColdRun, 'wall'>) })
      } catch (error) {
        reject(error as Error)
      }
    })
  })
}
