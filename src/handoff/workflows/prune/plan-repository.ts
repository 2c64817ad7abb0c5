// Plans what to remove of one repository. Reads the drive, the git host and GitHub. What cannot be checked is kept.

import type { AppContext } from '../../context.js'
import { isHandoffError } from '../../domain/errors.js'
import { decodeHandoff, sealLimit } from '../../domain/handoff-record.js'
import { judgeRuns, type RetentionRun } from '../../domain/retention.js'
import { artifact, fullName, layoutAsSpelled, type Repository, type RunId, shaOf } from '../../domain/run.js'
import { readTombstone } from '../../domain/tombstone.js'
import {
  concurrentRequests,
  type Inventory,
  listInventory,
  measure,
  type StoredFile,
  type StoredRef,
} from '../../store/inventory.js'
import { hostRef } from '../../store/ref-heads.js'
import { mapConcurrent } from '../../util/map-concurrent.js'
import { fileItem, nameOf, type PruneItem, type PruneRequest, type RepositoryPlan } from './types.js'

interface PruneContext {
  request: PruneRequest
  context: AppContext
  notices: string[]
}

const hourMs = 3_600_000
/** A question this recent may still be in progress. */
const busyMs = hourMs
/** Clocks differ, and a workflow may end shortly after its deadline. */
const marginMs = 10 * 60_000

export async function planRepository(
  pruning: PruneContext,
  repository: Repository,
  signal: AbortSignal,
): Promise<RepositoryPlan> {
  const { request, context } = pruning
  const inventory = await listInventory(context.ports.drive, layoutAsSpelled(context.root, repository), signal)
  for (const path of inventory.strange) pruning.notices.push(`${path} is not a name of ours; it stays.`)
  const refs = await judgeRefs(pruning, repository, inventory.refs, signal)
  const verdicts = judgeRuns(await sealedRuns(pruning, repository, inventory, signal), {
    keepDays: request.keepDays,
    keepRuns: request.keepRuns,
    now: context.ports.clock.now(),
    needed: refs.needed,
    gone: refs.gone,
  })
  const pointers = new Map(inventory.pointers.map((pointer) => [pointer.sha, pointer]))
  const removed = await mapConcurrent(
    concurrentRequests,
    verdicts.filter((verdict) => !verdict.keep),
    async ({ run: { run, sha }, why }): Promise<PruneItem> => {
      const pointer = pointers.get(sha)!
      const { files, bytes } = await measure(context.ports.drive, inventory.place.run(run), signal)
      const act = { how: 'sealed' as const, place: inventory.place, run, pointer }
      return { kind: 'run', name: run, why, files: files + 1, bytes: bytes + pointer.bytes, act }
    },
  )
  const leftovers = await findLeftovers(pruning, inventory, signal)
  return {
    repository,
    kept: verdicts.filter((verdict) => verdict.keep).map(({ run, why }) => ({ run: run.run, why })),
    items: [...refs.items, ...removed, ...leftovers],
  }
}

/** How long checkpoints and tombstones are kept for a later attempt. */
const keptHours = 24

/** True if the last write was so long ago that no attempt can still be running. False without a time. */
function isOld({ request, context }: PruneContext, at: string | undefined, leastHours = keptHours): boolean {
  const hours = Math.max(request.unfinishedHours, leastHours)
  const patience = Math.max(hours * hourMs, context.limits.deadlineMs + marginMs)
  return at !== undefined && Date.parse(at) < context.ports.clock.now() - patience
}

// ── refs ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

interface JudgedRefs {
  items: PruneItem[]
  needed: Map<string, string>
  /** Branches that the git host no longer has. */
  gone: Set<string>
}

async function judgeRefs(
  pruning: PruneContext,
  repository: Repository,
  refs: StoredRef[],
  signal: AbortSignal,
): Promise<JudgedRefs> {
  const judged: JudgedRefs = { items: [], needed: new Map(), gone: new Set() }
  for (const ref of refs) {
    if (ref.marked && isOld(pruning, ref.at))
      judged.items.push(fileItem('ref', ref, 'a removal that was not ended', ref.ref))
    else if (ref.commit === undefined && !ref.marked) pruning.notices.push(`${ref.path} cannot be read; it stays.`)
  }
  const branches = refs.filter(({ ref, marked }) => !marked && ref.startsWith('refs/heads/'))
  const pulls = refs.filter(({ ref, marked }) => !marked && ref.startsWith('refs/pull/'))
  const [gone] = await Promise.all([
    goneBranches(pruning, repository, branches, signal),
    judgePulls(pruning, repository, pulls, judged, signal),
  ])
  judged.gone = gone
  for (const branch of branches) {
    if (gone.has(branch.ref)) judged.items.push(fileItem('ref', branch, 'the branch is gone', branch.ref))
    else need(judged, branch.commit, `${branch.ref} points to it`)
  }
  return judged
}

function need({ needed }: JudgedRefs, sha: string | undefined, why: string): void {
  if (sha !== undefined && !needed.has(sha)) needed.set(sha, why)
}

/** An empty answer of the git host is not trusted: the repository may be private now. */
async function goneBranches(
  { request, context, notices }: PruneContext,
  repository: Repository,
  branches: StoredRef[],
  signal: AbortSignal,
): Promise<Set<string>> {
  const address = request.cloneUrl?.(repository)
  if (address === undefined || branches.length === 0) return new Set()
  try {
    const names = branches.map(({ ref }) => hostRef(ref)).filter((ref) => /^refs\/[^\s\p{Cc}]{1,500}$/u.test(ref))
    const heads = await context.ports.git.heads(address, ['HEAD', ...names], signal)
    if (heads.size > 0) return new Set(names.filter((ref) => !heads.has(ref)))
    notices.push(`The git host shows no branch of ${nameOf(repository)} at all; its refs stay.`)
  } catch (error) {
    if (!isHandoffError(error) || signal.aborted) throw error
    notices.push(`The refs of ${nameOf(repository)} stay, because the git host could not be asked: ${error.message}`)
  }
  return new Set()
}

async function judgePulls(
  pruning: PruneContext,
  repository: Repository,
  pulls: StoredRef[],
  judged: JudgedRefs,
  signal: AbortSignal,
): Promise<void> {
  const { request, context } = pruning
  const github = request.github?.(repository)
  const oldest = new Date(context.ports.clock.now() - request.keepDays * 24 * hourMs).toISOString()
  await mapConcurrent(4, pulls, async (pull) => {
    const number = Number(pull.ref.slice('refs/pull/'.length))
    const known = github && (await readPull(pruning, github, repository, number, signal))
    if (known === undefined) {
      const old = !github && request.closedPulls === true && (pull.at ?? oldest) < oldest
      if (old) judged.items.push(fileItem('ref', pull, `not written for ${request.keepDays} days`, pull.ref))
      else need(judged, pull.commit, `${pull.ref} points to it`)
    } else if (known.state === 'closed') {
      judged.items.push(fileItem('ref', pull, 'the pull request is closed', pull.ref))
    } else {
      need(judged, pull.commit, `pull request ${number} is open`)
      need(judged, known.head.sha, `pull request ${number} is open`)
    }
  })
}

async function readPull(
  { notices }: PruneContext,
  github: NonNullable<ReturnType<NonNullable<PruneRequest['github']>>>,
  repository: Repository,
  number: number,
  signal: AbortSignal,
) {
  try {
    return await github.pull(fullName(repository), number, { signal })
  } catch (error) {
    if (!isHandoffError(error) || signal.aborted) throw error
    notices.push(`refs/pull/${number} of ${nameOf(repository)} stays: ${error.message}`)
    return undefined
  }
}

// ── runs ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

async function sealedRuns(
  { context, notices }: PruneContext,
  repository: Repository,
  inventory: Inventory,
  signal: AbortSignal,
): Promise<RetentionRun[]> {
  const { drive, clock } = context.ports
  const whole = inventory.pointers.flatMap((pointer) => (pointer.state === 'whole' ? [pointer] : []))
  for (const pointer of inventory.pointers) {
    if (pointer.state === 'unreadable')
      notices.push(`The run of ${pointer.sha} of ${nameOf(repository)} stays: ${pointer.why}`)
  }
  const lately = new Date(clock.now() - busyMs).toISOString()
  return mapConcurrent(concurrentRequests, whole, async ({ sha, pointer, handoff }) => {
    const asked = await drive.list(`${inventory.place.run(pointer.run)}/${artifact.answers}`, signal)
    const busy = asked.some((entry) => (entry.modifiedAt ?? '') > lately)
    const branch = handoff.ref?.startsWith('refs/heads/') ? { branch: handoff.ref } : {}
    return { run: pointer.run, sha, sealedAt: pointer.sealedAt, busy, ...branch }
  })
}

/** Runs without a pointer, pointers without a run, and temporary files. */
async function findLeftovers(pruning: PruneContext, inventory: Inventory, signal: AbortSignal): Promise<PruneItem[]> {
  const spoken = new Set(inventory.pointers.flatMap((one) => ('pointer' in one ? [one.pointer.run] : [])))
  // The run of an unreadable pointer is unknown, so every run of that commit is kept.
  const unknown = new Set(inventory.pointers.flatMap((one) => (one.state === 'unreadable' ? [one.sha] : [])))
  const silent = inventory.runs.filter(({ run }) => !spoken.has(run) && !unknown.has(shaOf(run)))
  const attempts = await mapConcurrent(concurrentRequests, silent, ({ run, path }) =>
    judgeUnpointedRun(pruning, inventory, run, path, signal),
  )
  const pointers = inventory.pointers.flatMap((one) => {
    const abandoned = one.state === 'marked' && isOld(pruning, one.at)
    const lost = one.state === 'gone' && isOld(pruning, one.at)
    if (!abandoned && !lost) return []
    return [fileItem('pointer', one, lost ? 'its run is gone' : 'a removal that was not ended', one.sha)]
  })
  const runs = new Set(inventory.runs.map(({ run }) => run))
  const notes = inventory.notes.filter(
    (note) => (spoken.has(note.run) || !runs.has(note.run)) && isOld(pruning, note.at),
  )
  const checkpoints = inventory.checkpoints.filter((file) => isOld(pruning, file.at))
  return [
    ...pointers,
    ...attempts.filter((item) => item !== undefined),
    ...notes.map((note) => fileItem('note', note, 'the record of a seal that has ended')),
    ...checkpoints.map((file) => fileItem('checkpoint', file, 'an abandoned checkpoint of a summary')),
  ]
}

/** A run without a pointer: unfinished, or sealed but not canonical. */
async function judgeUnpointedRun(
  pruning: PruneContext,
  inventory: Inventory,
  run: RunId,
  path: string,
  signal: AbortSignal,
): Promise<PruneItem | undefined> {
  const { drive } = pruning.context.ports
  const { place } = inventory
  const size = await measure(drive, path, signal)
  if (!isOld(pruning, size.newest, 0)) return undefined
  const bytes = await drive.read(`${path}/${artifact.handoff}`, { maxBytes: sealLimit, signal })
  const item = (why: string, how: 'unsealed' | 'unspoken' | 'emptied'): PruneItem => {
    return { kind: 'attempt', name: run, why, files: size.files, bytes: size.bytes, act: { how, place, run } }
  }
  if (bytes === null) return item('never finished', 'unsealed')
  // Younger ones may still get a late request: a seal, or a pointer.
  if (!isOld(pruning, size.newest)) return undefined
  if (readTombstone(bytes)) return item('emptied before', 'emptied')
  if (isNewer(bytes)) return undefined
  return isRecoverable(pruning, inventory, run) ? undefined : item('another run speaks for its commit', 'unspoken')
}

/** True for a sealed run that a crash hid. Its write-ahead record lets the next lookup recover it. */
function isRecoverable({ request, context }: PruneContext, { notes, pointers }: Inventory, run: RunId): boolean {
  const note: StoredFile | undefined = notes.find((one) => one.run === run)
  const spokenFor = pointers.some((one) => one.sha === shaOf(run) && one.state === 'whole')
  const oldest = context.ports.clock.now() - request.keepDays * 24 * hourMs
  return note?.at !== undefined && !spokenFor && Date.parse(note.at) > oldest
}

function isNewer(bytes: Uint8Array): boolean {
  try {
    decodeHandoff(bytes)
    return false
  } catch (error) {
    return isHandoffError(error, 'unknown-version')
  }
}
