// What only the whole suite can tell: whether every outside call that was seen in `test/promises` was also broken there. The files of the suite
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

/** The files whose scenarios ask as the product does; what other tests ask a stand-in for is their own affair. */
const promises = join(import.meta.dirname, '../promises')
const prefix = 'promises+'

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

/** Comes only when a mount happens to upload a file in the moment before its rename; where it does, drive9 itself makes good for a refusal. */
const byChance = /\?rename=1$/

/** Nothing can be said when some of the files did not run. */
function judge(folder: string): string | undefined {
  const expected = readdirSync(promises).filter((name) => name.endsWith('.test.ts'))
  const written = readdirSync(folder).filter((name) => name.startsWith(prefix))
  if (process.env['SEED'] !== undefined || written.length < expected.length) return undefined
  const all: CallLedger = {}
  for (const file of written) addCalls(all, JSON.parse(readFileSync(join(folder, file), 'utf8')) as CallLedger)
  const unbroken = neverBroken(all).filter((name) => !byChance.test(name))
  console.log(`\nOutside calls, and how they were broken:\n${callsText(all)}\n`)
  return unbroken.length === 0 ? undefined : `Calls that nobody broke:\n${unbroken.join('\n')}`
}
