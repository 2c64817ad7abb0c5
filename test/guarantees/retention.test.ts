// Stored data does not grow for ever: pruning removes old runs, attempts, refs and small files. When any call fails meanwhile, a run
// is either visible and complete or not visible. Recent data stays, and the next prune removes the rest.
//
// Each schedule follows from its seed. SEED=17 replays one; LONG=1 runs five hundred.
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { makeDrive } from '../../src/handoff/clients/drive9/client.js'
import { isHandoffError } from '../../src/handoff/domain/errors.js'
import { listRepositories, listRuns } from '../../src/handoff/workflows/browse.js'
import { planPrune, prune } from '../../src/handoff/workflows/prune/prune.js'
import { makeCallBreaker } from '../support/break-calls.js'
import { manualClock } from '../support/clock.js'
import { randomFrom } from '../support/random.js'
import { runSchedules, type Schedule, schedulesFrom } from '../support/schedules.js'
import { day, makeStoredRuns, never, type StoredRuns, sha } from '../support/stored-runs.js'
import { watchVisibleRun } from '../support/visible-run-watch.js'

const breaking = makeCallBreaker('drive', [
  { kind: 'answer', status: 500, body: '{"error":"storage backend unavailable"}' },
  { kind: 'lose-reply' },
  { kind: 'reset' },
  { kind: 'twice' },
  { kind: 'answer', status: 503, headers: { 'retry-after': '1' }, body: '{"error":"not ready"}' },
  { kind: 'cut', bytes: 7 },
])

test('if any call fails, prune removes old runs as a whole and keeps young ones', async () => {
  expect(await runSchedules(schedulesFrom(3, 500), schedule)).toEqual([])
}, 600_000)

async function schedule(seed: number): Promise<Schedule> {
  const random = randomFrom(seed)
  await using there = await makeStoredRuns()
  const { drive, place } = there
  there.context.ports.drive = makeDrive({
    server: drive.url,
    key: drive.ownerKey,
    times: { answerMs: 500, silenceMs: 500, pauseMs: 1, tries: 3, settingUpMs: 2_500 },
    clock: manualClock({ jump: true }),
  })
  /** The branches that the git host has. */
  let branches = ['refs/heads/main']
  there.context.ports.git = { heads: async () => new Map(['HEAD', ...branches].map((name) => [name, sha(2)])) }
  const young = await fill(there)
  const readers = [1, 2].map((digit) => watchVisibleRun(drive, place, sha(digit), { mayBeReplaced: true }))
  const look = () => {
    for (const reader of readers) reader.look()
    return false
  }
  drive.rule({ match: look, fault: { kind: 'hang' } })
  const wrong: string[] = []
  const plans: string[] = []
  for (const days of [0, 200]) {
    there.time.now += days * day
    if (days > 0) branches = []
    plans.push(breaking.breakSome(drive, random, 80))
    breaking.breakNewKinds(drive)
    wrong.push(...(await disturbed(there)))
    drive.clearRules()
    drive.rule({ match: look, fault: { kind: 'hang' } })
    await remove(there)
    // An attempt leaves a mark for a day, so that it can never be sealed however late it wakes up.
    there.time.now += 2 * day
    await remove(there)
    const left = there.files().filter((path) => !young.some((kept) => path.includes(kept)))
    if (left.length > 0) wrong.push(`after ${days} days is left: ${left.join(', ')}`)
    if (days === 0 && readers[1]!.run() === undefined) wrong.push('what was young is gone')
    young.length = 0
  }
  if (drive.tree('/handoff').some(({ path }) => path.startsWith(place.repository))) wrong.push('empty folders are left')
  return { plan: plans.join(' | '), wrong: [...wrong, ...readers.flatMap((reader) => reader.wrong)] }
}

/** Everything that can grow old, and beside it what is young, by parts of their paths. */
async function fill(there: StoredRuns): Promise<string[]> {
  const { drive, place } = there
  await there.sealed(sha(1), { days: 100 })
  const kept = await there.sealed(sha(2), { days: 3 })
  await there.sealed(sha(2), { days: 3, pointed: false, name: 'loser' })
  await there.daysAgo(120, async () => {
    there.ref('refs/pull/7', sha(1))
    for (const kind of ['keys', 'deliveries', 'accepted', 'budgets'])
      drive.write(`/handoff/_service/${kind}/${'0'.repeat(32)}.json`, '{}')
    drive.write(place.checkpoint(sha(4)), '{}')
    drive.write(place.sealNote(there.attempt(sha(4), ['project/tools.git.tar', 'analysis/files.json'])), '{}')
    const lost = await there.sealed(sha(5), { name: 'lost' })
    drive.remove(place.run(lost))
    there.ref('refs/heads/gone', sha(1))
  })
  there.ref('refs/heads/main', sha(2))
  return [kept, `${sha(2)}.json`, 'refs/heads/main']
}

const plan = ({ context }: StoredRuns) =>
  planPrune(
    { keepDays: 90, keepRuns: 50, unfinishedHours: 24, closedPulls: true, cloneUrl: () => 'https://git.example.org/x' },
    context,
    never,
  )

/** Prunes without faults. */
async function remove(there: StoredRuns): Promise<void> {
  for (const { outcome, why } of await prune(await plan(there), there.context, never))
    if (outcome === 'failed') throw new Error(why)
}

/** What is not an error of ours. */
async function disturbed(there: StoredRuns): Promise<string[]> {
  const { context, repository } = there
  const endings = await Promise.allSettled([
    listRepositories(context, repository.host, never),
    listRuns(context, repository, { limit: 5 }, never),
    context.ports.drive.status(never),
    plan(there).then((planned) => prune(planned, context, never)),
  ])
  return endings.flatMap((ending) =>
    ending.status === 'rejected' && !isHandoffError(ending.reason) ? [inspect(ending.reason)] : [],
  )
}
