// Which run answers: from a run id, a commit, a branch or a pull request to a sealed run, with a clear error for everything that is not one.

import type { ReadContext } from '../../context.js'
import { HandoffError, isHandoffError } from '../../domain/errors.js'
import {
  fullName,
  type Layout,
  layout,
  layoutAsSpelled,
  parseRepository,
  parseRunId,
  parseSha,
  type Repository,
  type RunId,
  shaOf,
} from '../../domain/run.js'
import { findSealed } from '../../store/find-sealed.js'
import type { SealedRun } from '../../store/run-store.js'

/** How a caller names a run. The ref `HEAD` stands for the default branch. */
export type RunName = { run: string } | { commit: string } | { ref: string }

/** A run id, a commit id, `#12` for a pull request, or the name of a branch. */
export function parseRunName(text: string): RunName {
  if (/^[0-9a-f]{40}$/.test(text)) return { commit: text }
  if (/^[0-9a-f]{40}-/.test(text)) return { run: text }
  const pull = /^#(\d{1,9})$/.exec(text)
  if (pull) return { ref: `refs/pull/${pull[1]}` }
  return { ref: text === 'HEAD' || text.startsWith('refs/') ? text : `refs/heads/${text}` }
}

export interface ChosenRun extends SealedRun {
  directory: string
  /** Set when the run is of an older commit than the ref's head. The caller is informed. */
  behind?: { head: string }
}

/** As the run was stored: its directory may be in that spelling. */
export const repositoryOf = ({ handoff }: Pick<ChosenRun, 'handoff'>) =>
  parseRepository(handoff.repository, handoff.host)

export interface Where {
  repository: Repository
  /** Needed to ask the git host about a ref. */
  cloneUrl?: string
  /** A run that did not record the repository's number is refused too. */
  strict?: boolean
  /** Nothing is written, not even a pointer that was lost. */
  readOnly?: boolean
}

export async function resolveRun(
  where: Where,
  name: RunName,
  context: ReadContext,
  signal: AbortSignal,
): Promise<ChosenRun> {
  const place = layout(context.root, where.repository)
  const chosen = await inPlace(where, name, context, place, signal).catch(async (error: unknown) => {
    const older = isHandoffError(error, 'not-found') ? await inOlderPlace(where, name, context, signal) : undefined
    if (older) return older
    throw error
  })
  if (chosen.handoff.repository.toLowerCase() !== fullName(where.repository).toLowerCase()) {
    throw new HandoffError(
      'corrupt',
      `The run in the directory of ${fullName(where.repository)} is of another repository.`,
      {
        next: 'Summarise the commit again with force.',
      },
    )
  }
  const { id } = where.repository
  const recorded = chosen.handoff.repositoryId
  if (id !== undefined && id !== recorded && (recorded !== undefined || where.strict)) {
    throw new HandoffError(
      'forbidden',
      recorded === undefined
        ? `The run does not say by its number which repository ${chosen.handoff.repository} was.`
        : `The run belongs to another repository that was once called ${chosen.handoff.repository}.`,
      {
        next: 'Summarise this repository once; its own runs are found from then on.',
      },
    )
  }
  return chosen
}

function inPlace(
  where: Where,
  name: RunName,
  context: ReadContext,
  place: Layout,
  signal: AbortSignal,
): Promise<ChosenRun> {
  return 'ref' in name ? byRef(where, name.ref, context, place, signal) : byCommit(where, name, context, place, signal)
}

/** A run of before names were stored in lower case. */
async function inOlderPlace(
  where: Where,
  name: RunName,
  context: ReadContext,
  signal: AbortSignal,
): Promise<ChosenRun | undefined> {
  const { olderSpellings } = await import('../../store/mixed-case-directories.js')
  for (const spelled of await olderSpellings(context.ports.drive, context.root, where.repository, signal)) {
    try {
      return await inPlace(where, name, context, layoutAsSpelled(context.root, spelled), signal)
    } catch (error) {
      if (!isHandoffError(error, 'not-found')) throw error
    }
  }
  return undefined
}

async function byCommit(
  { readOnly = false }: Where,
  name: { run: string } | { commit: string },
  context: ReadContext,
  place: Layout,
  signal: AbortSignal,
): Promise<ChosenRun> {
  const run = 'run' in name ? parseRunId(name.run) : undefined
  const sha = 'commit' in name ? parseSha(name.commit) : shaOf(parseRunId(name.run))
  const sealed = await findSealed(context.ports, place, sha, signal, { expected: run, readOnly })
  if (!sealed) throw await absent(context, place, sha, run, signal)
  if (run !== undefined && sealed.handoff.run !== run) {
    throw new HandoffError('not-sealed', `Run ${run} does not speak for its commit; run ${sealed.handoff.run} does.`, {
      next: `Ask about run ${sealed.handoff.run}.`,
    })
  }
  return { ...sealed, directory: place.run(sealed.handoff.run) }
}

/** No attempt at a summary takes so long; what began earlier and is not sealed has failed. */
const longestAttemptMs = 3_600_000

/** Never there, being made, or failed: three different things to do next. */
async function absent(
  context: ReadContext,
  place: Layout,
  sha: string,
  run: RunId | undefined,
  signal: AbortSignal,
): Promise<HandoffError> {
  const entries = await context.ports.drive.list(place.runs, signal)
  const attempts = entries.filter((entry) => (run ? entry.name === run : entry.name.startsWith(`${sha}-`)))
  const what = run ? `Run ${run}` : `Commit ${sha}`
  if (attempts.length === 0) {
    return new HandoffError('not-found', `${what} was never summarised.`, {
      next: 'Summarise the commit first: push it, or run the workflow by hand.',
    })
  }
  const oldest = context.ports.clock.now() - longestAttemptMs
  const ended = attempts.every(({ modifiedAt }) => Date.parse(modifiedAt ?? '') < oldest)
  if (ended) {
    return new HandoffError('not-sealed', `${what} is not complete: the attempt to summarise it failed.`, {
      next: 'Run the workflow for that commit again.',
    })
  }
  return new HandoffError('not-sealed', `${what} is not complete: a summary is being made, or the attempt failed.`, {
    next: 'Look at the workflow run; ask again when it has finished.',
    retryAfterSeconds: 30,
  })
}

/** The host's head first; when that commit has no run, the newest that was summarised, and the caller is informed. */
async function byRef(
  where: Where,
  ref: string,
  context: ReadContext,
  place: Layout,
  signal: AbortSignal,
): Promise<ChosenRun> {
  const { headsOf } = await import('../../store/ref-heads.js')
  const [head, named] = await headsOf(ref, where.cloneUrl, place, context.ports, signal)
  const candidates = [...new Set([head, named])].filter((sha) => sha !== undefined)
  const sealed = await Promise.all(
    candidates.map((sha) => findSealed(context.ports, place, sha, signal, { readOnly: where.readOnly ?? false })),
  )
  const index = sealed.findIndex((run) => run !== undefined)
  const found = sealed[index]
  if (!found) throw noneOf(where, ref, head)
  const behind = head !== undefined && candidates[index] !== head ? { behind: { head } } : {}
  return { ...found, directory: place.run(found.handoff.run), ...behind }
}

function noneOf(where: Where, ref: string, head: string | undefined): HandoffError {
  const at = head === undefined ? '' : ` (its head is ${head.slice(0, 12)})`
  const what = ref === 'HEAD' ? 'The default branch' : ref
  return new HandoffError('not-found', `${what} of ${fullName(where.repository)}${at} has no summary yet.`, {
    next: 'Wait for the workflow of the last push, or run it by hand.',
  })
}
