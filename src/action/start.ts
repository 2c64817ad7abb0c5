// What the two programs of the Action, the job's step and the step after the job, do before anything else.
import { isKey, shortestKey } from '../handoff/util/key-text.js'
import { secretValues } from './inputs.js'
import type { Environment, Runner } from './runner.js'

/** What SDKs would read from the environment by themselves: inputs are the only way in, so that a job's other steps cannot redirect us. */
function removeForeignSettings(environment: Environment): void {
  for (const name of Object.keys(environment)) if (/^(E2B|OPENAI|LLM|DRIVE9)_/.test(name)) delete environment[name]
}

interface Program {
  work: () => Promise<void>
  /** Reports a failure. Never throws. */
  report: (error: unknown) => Promise<void>
  /** The process ends with it after an error that was not caught. */
  failureCode: 0 | 1
  /** Called when the runner's Node is too old for its proxy. */
  refuse: (sentence: string) => void
}

export async function start(runner: Runner, environment: Environment, program: Program): Promise<void> {
  if (goesAroundProxy(environment)) {
    return program.refuse(
      `The runner is behind a proxy, and its Node (${process.versions.node}) would send calls around it. Update the runner: Node 24.5 or newer does not.`,
    )
  }
  const exitCode = await useProxy(environment)
  if (exitCode !== null) {
    process.exitCode = exitCode
    return
  }
  // Node would print the error as it is, and with it whatever a repository put there.
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      void program.report(error).finally(() => process.exit(program.failureCode))
    })
  }
  maskAll(runner, secretValues(runner))
  removeForeignSettings(environment)
  await program.work().catch(program.report)
}

// A runner behind a proxy sets environment variables, and every request must use that proxy. All requests use Node's two HTTP clients, which are
// configured once here. Node reads these variables by itself only with a start option.

const names = ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY']

const wantsProxy = (environment: Environment) => names.some((name) => (environment[name] ?? '') !== '')

/** Whether this version of Node would send only one of its two HTTP clients through the proxy. */
function goesAroundProxy(environment: Environment): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  return wantsProxy(environment) && (major < 24 || (major === 24 && minor < 5))
}

/** Resolves to the exit code of a child process that did all the work, or to null when this process continues. */
async function useProxy(environment: Environment): Promise<number | null> {
  if (!wantsProxy(environment) || environment['NODE_USE_ENV_PROXY'] === '1') return null
  const { setGlobalProxyFromEnv } = (await import('node:http')) as { setGlobalProxyFromEnv?: () => void }
  if (!setGlobalProxyFromEnv) return startAgain(environment)
  setGlobalProxyFromEnv()
  return null
}

/** Early releases of Node 24 read the proxy variables only at start. */
async function startAgain(environment: Environment): Promise<number> {
  const { spawn } = await import('node:child_process')
  const child = spawn(process.execPath, process.argv.slice(1), {
    stdio: 'inherit',
    env: { ...environment, NODE_USE_ENV_PROXY: '1' },
  })
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => child.kill(name))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve(code ?? 1))
  })
}

// Masks every encoding in which a secret may reach the log. A mask matches exact text only, so base64, percent-encoding and JSON strings need
// masks of their own.

function maskAll(runner: Pick<Runner, 'mask'>, secrets: readonly string[]): void {
  for (const form of new Set(secrets.flatMap(encodingsOfSecret))) runner.mask(form)
}

export function encodingsOfSecret(secret: string): string[] {
  if (!isKey(secret)) return []
  const bytes = Buffer.from(secret)
  const lines = secret.split(/\r?\n/).filter((line) => line.trim().length >= shortestKey)
  return [
    secret,
    ...lines,
    ...base64Forms(bytes),
    bytes.toString('base64url'),
    Buffer.from(`x-access-token:${secret}`).toString('base64'),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    [...secret].reverse().join(''),
    encodeURIComponent(secret.toWellFormed()),
    JSON.stringify(secret).slice(1, -1),
  ].filter((form) => form.length >= shortestKey)
}

/** The base64 forms at each of the three byte offsets, without the characters that depend on adjacent bytes. */
function base64Forms(bytes: Buffer): string[] {
  const inner = [0, 1, 2].map((shift) => {
    const shifted = Buffer.concat([Buffer.alloc(shift), bytes])
    const whole = shifted.toString('base64')
    return whole.slice(Math.ceil((shift * 8) / 6), Math.floor((shifted.length * 8) / 6))
  })
  return [bytes.toString('base64'), ...inner]
}
