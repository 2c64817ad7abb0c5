// Runs a program of the project in its own process, as a user starts it at a terminal.
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'

export const root = join(import.meta.dirname, '../..')

/** What Node compiled is kept from one process to the next; most of what a short program takes is that. */
export const compileCache = join(root, 'node_modules/.cache/compiled')

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

export interface Program {
  child: ChildProcess
  ended: Promise<Ended>
}

/** `file` is a source below the project's root; of our environment it finds nothing but the PATH. */
export function startProgram(file: string, words: string[], environment: Record<string, string | undefined>): Program {
  const child = spawn(process.execPath, ['--import', './src/build/ts-loader.mjs', file, ...words], {
    cwd: root,
    env: { PATH: process.env['PATH'], CI: 'true', NODE_COMPILE_CACHE: compileCache, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said = { stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      said[stream] += text
    })
  }
  return { child, ended: new Promise((resolve) => child.once('close', (code) => resolve({ code, ...said }))) }
}

export function runProgram(
  file: string,
  words: string[],
  environment: Record<string, string | undefined> = {},
): Promise<Ended> {
  return startProgram(file, words, environment).ended
}
