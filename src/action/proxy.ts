// A runner behind a proxy says so in its environment, and every call of ours has to go that way: our own, the model's and the sandboxes'.
// All of them end in Node's two HTTP clients, which are told once. Node reads these variables by itself only when it is started so.
import type { Environment } from './runner.js'

const names = ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY']

const wantsProxy = (environment: Environment) => names.some((name) => (environment[name] ?? '') !== '')

/** A Node that is told of a proxy and sends only one of its clients there: calls would go around it. */
export function goesAroundProxy(environment: Environment, version = process.versions.node): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return wantsProxy(environment) && (major < 24 || (major === 24 && minor < 5))
}

/** Resolves to the exit code of a process that did all the work in our place, or to null when we go on ourselves. */
export async function useProxy(environment: Environment): Promise<number | null> {
  if (!wantsProxy(environment) || environment['NODE_USE_ENV_PROXY'] === '1') return null
  const { setGlobalProxyFromEnv } = (await import('node:http')) as { setGlobalProxyFromEnv?: () => void }
  if (!setGlobalProxyFromEnv) return startAgain(environment)
  setGlobalProxyFromEnv()
  return null
}

/** For a Node of the first year of version 24: it takes the variables only from the start. */
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
