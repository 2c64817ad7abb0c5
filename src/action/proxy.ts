// A runner behind a proxy sets environment variables, and every request must use that proxy. All requests use Node's two HTTP clients, which are
// configured once here. Node reads these variables by itself only with a start option.
import type { Environment } from './runner.js'

const names = ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY']

const wantsProxy = (environment: Environment) => names.some((name) => (environment[name] ?? '') !== '')

/** Whether this version of Node would send only one of its two HTTP clients through the proxy. */
export function goesAroundProxy(environment: Environment, version = process.versions.node): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return wantsProxy(environment) && (major < 24 || (major === 24 && minor < 5))
}

/** Resolves to the exit code of a child process that did all the work, or to null when this process continues. */
export async function useProxy(environment: Environment): Promise<number | null> {
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
