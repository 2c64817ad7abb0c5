// What only the whole suite can tell: whether every outside call that the product was seen to make was also broken somewhere. The files of the suite
// write what they saw into a folder; when all of them have run, it is put together here, and a call that nobody broke fails the run.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { addCalls, type CallLedger, callsText, neverBroken } from './calls.js'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where each file leaves its ledger. */
    ledgers: string
  }
}

/** The folders whose scenarios ask as the product does; what other tests ask a stand-in for is their own affair. */
const doors = ['action', 'api', 'commands']
const isPromise = (file: string) => file.startsWith('promises+')
const tests = join(import.meta.dirname, '..')

export default function setup(project: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'ledgers-'))
  project.provide('ledgers', folder)
  return () => {
    const complaint = project.config.testNamePattern ? undefined : judge(folder)
    rmSync(folder, { recursive: true, force: true })
    if (complaint === undefined) return
    process.exitCode = 1
    throw new Error(complaint)
  }
}

/**
 * What the promises' own scenarios ask for is broken by them; what the doors ask for is broken somewhere in the suite. Nothing can be said of
 * either when some of the files did not run.
 */
function judge(folder: string): string | undefined {
  if (process.env['SEED'] !== undefined) return undefined
  const written = readdirSync(folder)
  const missing = readdirSync(tests, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => file.replaceAll('/', '+'))
    .filter((file) => !written.includes(`${file}.json`))
  const whole = missing.length === 0 ? ['promises', ...doors] : missing.some(isPromise) ? [] : ['promises']
  if (whole.length === 0) return undefined
  const judged: CallLedger = {}
  const all: CallLedger = {}
  for (const file of written) {
    const ledger = JSON.parse(readFileSync(join(folder, file), 'utf8')) as CallLedger
    addCalls(all, ledger)
    if (whole.some((name) => file.startsWith(`${name}+`))) addCalls(judged, ledger)
  }
  const unbroken = neverBroken(all).filter((name) => name in judged)
  console.log(`\nOutside calls, and how they were broken:\n${callsText(judged)}\n`)
  return unbroken.length === 0 ? undefined : `Calls that nobody broke:\n${unbroken.join('\n')}`
}
