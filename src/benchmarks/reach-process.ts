// A process of its own that takes part in one event and reports which functions were called, by V8's precise coverage.
import { strict as assert } from 'node:assert'
import { writeFileSync } from 'node:fs'
import { type Profiler, Session } from 'node:inspector'
import { registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'

export interface Measured {
  /** Addresses of modules that are loaded before counting begins. */
  modules: string[]
  /** The module of a function that is asked with `request`; without a request a program, which runs while it loads. */
  entry: string
  request?: { path: string; headers: Record<string, string>; body: string }
  /** The file that takes a `ReachReport`. */
  reportFile: string
}

export interface ReachReport {
  /** Addresses of all modules that were loaded, in order. */
  loaded: string[]
  /** How many functions were called, by the address of their module. Callbacks have no name. */
  called: Record<string, { named: number; callbacks: number }>
}

const { modules, entry, request, reportFile } = JSON.parse(process.argv[2] ?? '{}') as Measured
const loaded: string[] = []
registerHooks({
  load(url, context, next) {
    loaded.push(url)
    return next(url, context)
  },
})
const address = pathToFileURL(entry).href
const session = new Session()
session.connect()
session.post('Profiler.enable')
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
for (const module of modules) await import(module)
const subject = request === undefined ? undefined : await import(address)
// Sets all counts to zero.
session.post('Profiler.takePreciseCoverage')
process.on('exit', () => session.post('Profiler.takePreciseCoverage', (_error, { result }) => write(result)))
if (request === undefined) await import(address)
else await answer(request)

function write(scripts: Profiler.ScriptCoverage[]): void {
  const report: ReachReport = { loaded, called: {} }
  for (const { url, functions } of scripts) {
    const called = functions.filter((one) => !isTopLevel(one) && one.ranges.some(({ count }) => count > 0))
    const named = called.filter(({ functionName }) => functionName !== '').length
    if (called.length > 0) report.called[url] = { named, callbacks: called.length - named }
  }
  writeFileSync(reportFile, JSON.stringify(report))
}

const isTopLevel = ({ functionName, ranges }: Profiler.FunctionCoverage) =>
  functionName === '' && ranges[0]?.startOffset === 0

/** As the platform asks: with a context, and until the work behind the answer is over. */
async function answer({ path, ...init }: NonNullable<Measured['request']>): Promise<void> {
  const works: Promise<unknown>[] = []
  const deadline = new Date(Date.now() + 60_000).toISOString()
  const context = { deadline, headers: init.headers, waitUntil: (work: Promise<unknown>) => void works.push(work) }
  Object.defineProperty(globalThis, Symbol.for('@vercel/request-context'), { value: { get: () => context } })
  const received = new Request(`http://localhost${path}`, { method: 'POST', ...init })
  const response: Response = await subject.default.fetch(received)
  const body = await response.text()
  for (let seen = 0; seen < works.length; ) {
    seen = works.length
    await Promise.all(works)
  }
  assert.equal(response.status, 200, body)
}
