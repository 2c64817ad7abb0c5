// Removes runs, pointers, refs and leftovers by age and count.
//
// The plan only reads: it lists what would be removed, why, and how many bytes. Applying it checks each item again before its removal, so that
// an item that is needed since stays. Both may be repeated and may run beside all other workflows.

import type { AppContext } from '../../context.js'
import { type ErrorCode, isHandoffError } from '../../domain/errors.js'
import {
  budgetsDirectory,
  type Layout,
  layoutAsSpelled,
  parseRepository,
  type Repository,
  serviceDirectory,
} from '../../domain/run.js'
import * as removal from '../../store/delete-run.js'
import { concurrentRequests, fileAt, measure, runOf } from '../../store/inventory.js'
import { olderSpellings } from '../../store/mixed-case-directories.js'
import { mapConcurrent } from '../../util/map-concurrent.js'
import { noteRemoval } from '../audit-log.js'
import { listRepositories } from '../browse.js'
import { planRepository } from './plan-repository.js'
import {
  fileItem,
  type PruneAction,
  type PruneItem,
  type PrunePlan,
  type PruneRequest,
  type PruneResult,
  type RepositoryPlan,
} from './types.js'

const dayMs = 86_400_000

export async function planPrune(request: PruneRequest, context: AppContext, signal: AbortSignal): Promise<PrunePlan> {
  const notices: string[] = []
  const madeAt = new Date(context.ports.clock.now()).toISOString()
  const repositories = request.repository
    ? await findSpellings(context, request.repository, signal)
    : await findRepositories(context, notices, signal)
  const plans: RepositoryPlan[] = []
  // One after the other, because each already sends concurrent requests.
  for (const repository of repositories)
    plans.push(await planRepository({ request, context, notices }, repository, signal))
  const service = request.repository ? [] : await serviceLeftovers(context, signal)
  return { madeAt, repositories: plans, service, notices }
}

/** The repository's folder, and older ones from before names were stored in lower case. */
async function findSpellings(context: AppContext, repository: Repository, signal: AbortSignal): Promise<Repository[]> {
  const older = await olderSpellings(context.ports.drive, context.root, repository, signal)
  return [{ ...repository, owner: repository.owner.toLowerCase(), name: repository.name.toLowerCase() }, ...older]
}

async function findRepositories(context: AppContext, notices: string[], signal: AbortSignal): Promise<Repository[]> {
  const { drive } = context.ports
  // Attempts that all failed leave `runs` without `commits`. On some hosts a project may be called `runs`: the names in it tell.
  const isRepository = async (folders: readonly string[], path: string) =>
    folders.includes('commits') ||
    (folders.includes('runs') && (await drive.list(`${path}/runs`, signal)).some(({ name }) => runOf(name)))
  const top = await drive.list(context.root === '' ? '/' : context.root, signal)
  const found: Repository[] = []
  for (const entry of top.filter((one) => one.isDirectory && !one.name.startsWith('_'))) {
    const host = entry.name.replace('_', ':')
    try {
      for (const name of await listRepositories(context, host, signal, { isRepository }))
        found.push(parseRepository(name, host))
    } catch (error) {
      if (!isHandoffError(error, 'invalid-input')) throw error
      notices.push(`${entry.name} is not a folder of handoff; it was not looked into.`)
    }
  }
  return found
}

/** Old budgets, and what earlier versions of the service kept here: names of requests and deliveries, and notes of accepted questions. */
async function serviceLeftovers(context: AppContext, signal: AbortSignal): Promise<PruneItem[]> {
  const service = serviceDirectory(context.root)
  const folders = [
    { folder: budgetsDirectory(context.root), days: 3, why: 'the budget of a day that is over' },
    { folder: `${service}/keys`, days: 2, why: 'written by an earlier version' },
    { folder: `${service}/deliveries`, days: 7, why: 'written by an earlier version' },
    { folder: `${service}/accepted`, days: 14, why: 'written by an earlier version' },
  ]
  const lists = await mapConcurrent(concurrentRequests, folders, async ({ folder, days, why }) => {
    const before = new Date(context.ports.clock.now() - days * dayMs).toISOString()
    const old = (await context.ports.drive.list(folder, signal)).filter(
      (entry) => !entry.isDirectory && entry.modifiedAt !== undefined && entry.modifiedAt < before,
    )
    return old.map((entry) => fileItem('service', fileAt(folder, entry), why))
  })
  return lists.flat()
}

/** Concurrent removals; each sends several requests. */
const removers = 4

/** Applies the plan and reports each item when it is done. A failed item does not stop the others. */
export async function prune(
  plan: PrunePlan,
  context: AppContext,
  signal: AbortSignal,
  onDone: (done: PruneResult) => void = () => undefined,
): Promise<PruneResult[]> {
  const report = (done: PruneResult) => {
    onDone(done)
    return done
  }
  const all: PruneResult[] = []
  for (const { repository, items } of plan.repositories) {
    // Refs first: a ref must not lead to a run that is gone.
    for (const early of [true, false]) {
      const now = items.filter((item) => (item.kind === 'ref') === early)
      const act = async (item: PruneItem) => report({ repository, ...(await applyItem(item, plan, context, signal)) })
      all.push(...(await mapConcurrent(removers, now, act)))
    }
    const removed = all.filter(
      (done) => done.repository === repository && done.outcome === 'removed' && done.item.kind === 'run',
    )
    await Promise.all([
      removeEmptyFolders(context, layoutAsSpelled(context.root, repository), signal),
      noteRemoval(
        context,
        repository,
        removed.map(({ item }) => item.name),
      ),
    ])
  }
  const act = async (item: PruneItem) => report(await applyItem(item, plan, context, signal))
  all.push(...(await mapConcurrent(removers, plan.service, act)))
  return all
}

const ends: ErrorCode[] = ['cancelled', 'timeout', 'unauthorized']

async function applyItem(
  item: PruneItem,
  plan: PrunePlan,
  context: AppContext,
  signal: AbortSignal,
): Promise<PruneResult> {
  try {
    const stayed = await remove(item.act, plan, context, signal)
    return stayed === undefined ? { item, outcome: 'removed' } : { item, outcome: 'stayed', why: stayed }
  } catch (error) {
    if (!isHandoffError(error) || ends.includes(error.code)) throw error
    return { item, outcome: 'failed', why: error.message }
  }
}

async function remove(
  act: PruneAction,
  plan: PrunePlan,
  context: AppContext,
  signal: AbortSignal,
): Promise<removal.KeptReason> {
  const { ports } = context
  switch (act.how) {
    case 'sealed': {
      // drive9 has another clock with seconds only. A question in the hour before the plan keeps its run anyway.
      const since = new Date(Date.parse(plan.madeAt) - 60_000).toISOString()
      return removal.removeSealed(ports, { ...act, since }, signal)
    }
    case 'unsealed':
      return removal.removeUnsealed(ports, act.place, act.run, signal)
    case 'unspoken':
      return removal.removeNonCanonical(ports, act.place, act.run, signal)
    case 'emptied':
      return removal.removeEmptied(ports.drive, act.place, act.run, signal)
    case 'pointer':
      return removal.removePointer(ports, act.file, signal)
    case 'file':
      return removal.removeFile(ports.drive, act.file, signal)
  }
}

/** Removes the folders of a repository that is empty now. */
async function removeEmptyFolders(context: AppContext, place: Layout, signal: AbortSignal): Promise<void> {
  const { drive } = context.ports
  const left = await Promise.all([place.commits, place.runs].map((path) => drive.list(path, signal)))
  if (left.some((entries) => entries.length > 0)) return
  if ((await measure(drive, place.refs, signal)).files > 0) return
  const folders = [`${place.refs}/heads`, `${place.refs}/pull`, place.refs, place.commits, place.runs, place.repository]
  await removal.removeEmpty(drive, folders, signal)
}
