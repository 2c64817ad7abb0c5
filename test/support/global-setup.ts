// What only the whole suite can tell: whether every outside call that the product was seen to make, in any test, was also broken in some way. The
// files of the suite write what they saw into a folder; when all of them have run, it is put together here, and a call that nobody broke fails
// the run. And in how much they looked for secrets.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { addCalls, type CallLedger, callsTable, callsText, itsOwnAffair, neverBroken } from './calls.js'
import { figuresText } from './schedules.js'
import type { Looked } from './secret-watch.js'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where each file leaves its ledger. */
    ledgers: string
  }
}

/** What a file leaves when its tests are over. */
export interface Witnessed {
  calls: CallLedger
  looked: Looked & { leaks: number }
}

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

/** Comes only when a mount happens to upload a file in the moment before its rename; where it does, drive9 itself makes good for a refusal. */
const byChance = /\?rename=1$/

/** Whoever ran all but so many files wanted to know. */
const few = 5

/** Nothing can be said when some of the files did not run. */
function judge(folder: string): string | undefined {
  const written = new Set(readdirSync(folder))
  const judged = readdirSync(tests, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts') && !itsOwnAffair.test(file))
    .map((file) => `${file.replaceAll('/', '+')}.json`)
  const silent = judged.filter((file) => !written.has(file))
  if (process.env['SEED'] !== undefined || silent.length > 0) {
    if (silent.length < few)
      console.log(`\nOutside calls were not judged; nothing was heard of ${silent.join(', ')}.\n`)
    return undefined
  }
  const all: CallLedger = {}
  const looked = { keys: 0, texts: 0, characters: 0, leaks: 0 }
  for (const file of judged) {
    const witnessed = JSON.parse(readFileSync(join(folder, file), 'utf8')) as Witnessed
    addCalls(all, witnessed.calls)
    for (const what of ['keys', 'texts', 'characters', 'leaks'] as const) looked[what] += witnessed.looked[what]
  }
  const unbroken = neverBroken(all).filter((name) => !byChance.test(name))
  const text = process.env['LONG'] === '1' ? callsText(all) : callsTable(all)
  console.log(`\nOutside calls, and how often they were broken in which way:\n${text}\n`)
  const { leaks, ...through } = looked
  console.log(`Secrets, looked for in all that was let out: ${figuresText(through)}; leaks found: ${leaks}\n`)
  return unbroken.length === 0 ? undefined : `Calls that nobody broke:\n${unbroken.join('\n')}`
}
