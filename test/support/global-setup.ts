// Checks across all test files: a test broke each outside call that the product made in any test. Each file writes the calls it recorded into a
// folder. When every file has written, the calls are merged here, and a call that no test broke fails the run.
//
// `npm test`, `npm run test:guarantees` and `npm run test:variants` are parts of the suite. With OUTSIDE_CALLS they share a folder, and the last one
// checks; without it only `vitest run` and `npm run test:long` see every file.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { addCalls, type CallLog, callsTable, callsText, isEmulatorOrClientTest, neverBroken } from './call-log.js'
import { figuresText } from './schedules.js'
import type { ScanFigures } from './secret-watch.js'

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder into which each file writes its calls. */
    outsideCalls: string
  }
}

/** What a test file writes when its tests are over. */
export interface FileRecord {
  calls: CallLog
  scanned: ScanFigures & { leaks: number }
}

const tests = join(import.meta.dirname, '..')

export default function setup(project: TestProject): () => void {
  const shared = process.env['OUTSIDE_CALLS']
  if (shared !== undefined) mkdirSync(shared, { recursive: true })
  const folder = shared ?? mkdtempSync(join(tmpdir(), 'outside-calls-'))
  project.provide('outsideCalls', folder)
  return () => {
    const failure = project.config.testNamePattern ? undefined : checkCalls(folder)
    if (shared === undefined) rmSync(folder, { recursive: true, force: true })
    if (failure === undefined) return
    process.exitCode = 1
    throw new Error(failure)
  }
}

/**
 * The mount makes these calls by itself: when it uploads a file right before or after its rename, and when it reads files that the program in the
 * sandbox does not ask for. drive9 itself handles a refusal.
 */
const byMount =
  /\?rename=1$|\/\.handoff-\d+$|^inside +(GET \S+(\/stage\/(analysis|project)\/[^?]+|\/analysis\/(changes(\/\S+|\?list=1)|corrections\.json|\S+\.feedback\.json))|DELETE \S+\/stage\/project\/\{path\})$/

/** If at most this many files are missing, the run says which. */
const fewFiles = 5

/** The failure, if there is one. Undefined also when some files did not run. */
function checkCalls(folder: string): string | undefined {
  const written = new Set(readdirSync(folder))
  const wanted = readdirSync(tests, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts') && !isEmulatorOrClientTest.test(file))
    .map((file) => `${file.replaceAll('/', '+')}.json`)
  const missing = wanted.filter((file) => !written.has(file))
  if (process.env['SEED'] !== undefined || missing.length > 0) {
    if (missing.length <= fewFiles) console.log(`\nOutside calls were not checked; missing: ${missing.join(', ')}.\n`)
    return undefined
  }
  const all: CallLog = {}
  const scanned = { keys: 0, texts: 0, characters: 0, leaks: 0 }
  for (const file of wanted) {
    const record = JSON.parse(readFileSync(join(folder, file), 'utf8')) as FileRecord
    addCalls(all, record.calls)
    for (const figure of ['keys', 'texts', 'characters', 'leaks'] as const) scanned[figure] += record.scanned[figure]
  }
  const unbroken = neverBroken(all).filter((name) => !byMount.test(name))
  const text = process.env['LONG'] === '1' ? callsText(all) : callsTable(all)
  console.log(`\nOutside calls, and how often tests broke them in which way:\n${text}\n`)
  const { leaks, ...figures } = scanned
  console.log(`Secrets searched in all recorded output: ${figuresText(figures)}; leaks found: ${leaks}\n`)
  return unbroken.length === 0 ? undefined : `Calls that no test broke:\n${unbroken.join('\n')}`
}
