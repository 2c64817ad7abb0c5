// Changes one guard after another in a copy of this repository, and runs the guard's tests on each change. The copy has this repository's packages.
import { type ChildProcess, execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { GuardFile } from './guard-files.js'
import { type Mutant, mutantsOf } from './make-mutants.js'
import type { TestReply, TestRequest } from './test-process.js'

export interface MeasuredGuard {
  file: string
  mutants: number
  survivors: Mutant[]
  /** Changes that counted as noticed because a test's time ended. */
  late: Mutant[]
}

/** A change may make a test run for ever, or end the tests' process. Then that is started anew, and the change counts as noticed. */
const longestMs = (unchangedMs: number) => Math.round(120_000 + 10 * unchangedMs)

/** One guard after the other. */
export async function* measureGuards(
  root: string,
  guards: readonly GuardFile[],
  signal: AbortSignal,
): AsyncGenerator<MeasuredGuard> {
  const copy = copyOf(root)
  const runner = makeRunner(copy)
  try {
    for (const guard of guards) yield await measure(copy, guard, runner.run, signal)
  } finally {
    runner.end()
    rmSync(copy, { recursive: true, force: true })
  }
}

async function measure(
  copy: string,
  guard: GuardFile,
  run: (request: TestRequest, withinMs: number) => Promise<TestReply>,
  signal: AbortSignal,
): Promise<MeasuredGuard> {
  const changed = join(copy, 'src', guard.file)
  const request = { changed, tests: guard.tests.map((test) => join(copy, `test/${test}.test.ts`)) }
  const source = readFileSync(changed, 'utf8')
  const started = performance.now()
  const unchanged = await run(request, 300_000)
  const withinMs = longestMs(performance.now() - started)
  if (unchanged.failed) throw new Error(`Without a change of ${guard.file} fails: ${unchanged.tests.join('; ')}`)
  const mutants = await mutantsOf(changed, source)
  const survivors: Mutant[] = []
  const late: Mutant[] = []
  for (const mutant of mutants) {
    signal.throwIfAborted()
    writeFileSync(changed, mutant.source)
    const reply = await run(request, withinMs)
    if (!reply.failed) survivors.push(mutant)
    if (reply.late) late.push(mutant)
  }
  writeFileSync(changed, source)
  return { file: guard.file, mutants: mutants.length, survivors, late }
}

/** What git knows of, as it is in the working tree. */
function copyOf(root: string): string {
  const copy = mkdtempSync(join(tmpdir(), 'mutants-'))
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root })
  for (const path of new Set(listed.toString().split('\0').filter(Boolean))) {
    mkdirSync(dirname(join(copy, path)), { recursive: true })
    cpSync(join(root, path), join(copy, path))
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  return copy
}

/** Says whether tests fail. One process runs them all, and is started anew after it was ended. */
function makeRunner(copy: string) {
  let child: ChildProcess | undefined
  let ended: AbortSignal | undefined
  const end = () => {
    // The tests' own processes are in its group.
    if (child?.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL')
    child = undefined
  }
  const start = async () => {
    const started = fork(fileURLToPath(new URL('test-process.ts', import.meta.url)), [copy], {
      cwd: copy,
      detached: true,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    const end = new AbortController()
    started.once('exit', () => end.abort())
    await once(started, 'message', { signal: end.signal })
    ended = end.signal
    return started
  }
  const run = async (request: TestRequest, withinMs: number): Promise<TestReply> => {
    child ??= await start()
    const signal = AbortSignal.any([AbortSignal.timeout(withinMs), ...(ended ? [ended] : [])])
    const waiting = once(child, 'message', { signal })
    child.send(request, () => undefined)
    try {
      return ((await waiting) as [TestReply])[0]
    } catch {
      end()
      return { failed: true, tests: [], late: true }
    }
  }
  return { run, end }
}
