// Which processes belong to a sandbox, and how they all end.
//
// Without root there is no container to close, so a process is recognised: by the marker that every command of a sandbox has in its
// environment and that children inherit (a new session, a double fork and a changed user keep it), by its parents, by the sessions that were
// started for the sandbox, and, for an orphan that emptied its environment, by standing in the sandbox's directory. What empties its
// environment, starts its own session, loses its parent and walks away is not found.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

export const markerName = 'E2B_SANDBOX_ID'

/** Given the beginning that the ids of a cloud share, it begins the marker of all of them, before there are any. */
export const markerOf = (id: string) => `${markerName}=${id}`

export interface Belonging {
  /** How an environment entry of its processes begins: `E2B_SANDBOX_ID=…`. */
  marker: string
  directory: string
  /** The processes that were started for it, each of which leads a session, with the time they started: the system gives ids away again. */
  leaders: ReadonlyMap<number, string>
}

interface Row {
  id: number
  parent: number
  session: number
  started: string
  marked: boolean
  inside: boolean
}

const rounds = 200
const between = 10

/** Ends all of them, also those that start others meanwhile. Rejects when some will not die. */
export async function endProcesses(belonging: Belonging): Promise<void> {
  // Where there is no table to read (it is Linux that has one), at least what stayed in the group of its command.
  if (idsOfProcesses().length === 0) for (const id of belonging.leaders.keys()) signal(-id, 'SIGKILL')
  for (let round = 0; round < rounds; round += 1) {
    const found = freeze(belonging)
    if (found.size === 0) return
    for (const id of found) signal(id, 'SIGKILL')
    await new Promise((resolve) => setTimeout(resolve, between))
  }
  throw new Error(`Some processes of ${belonging.directory} did not end within ${(rounds * between) / 1000} s.`)
}

/** Stops all of them where they are, until none is left that could start another. */
function freeze(belonging: Belonging): Set<number> {
  const stopped = new Set<number>()
  for (;;) {
    const running = processesOf(belonging).filter((id) => !stopped.has(id))
    if (running.length === 0) return stopped
    for (const id of running) {
      signal(id, 'SIGSTOP')
      stopped.add(id)
    }
  }
}

function processesOf(belonging: Belonging): number[] {
  const rows = listProcesses(belonging)
  const started = new Map(rows.map((row) => [row.id, row.started]))
  const ours = (session: number) => {
    const then = belonging.leaders.get(session)
    return then !== undefined && (started.get(session) ?? then) === then
  }
  const seeds = rows.filter((row) => row.marked || ours(row.session) || (row.inside && row.parent === 1))
  const found = new Set(seeds.map((row) => row.id))
  for (let before = -1; before !== found.size; ) {
    before = found.size
    for (const row of rows) if (found.has(row.parent)) found.add(row.id)
  }
  return [...found]
}

/** When a process started, in the system's own count; empty when it is gone already. */
export function startOf(id: number): string {
  return readStat(id)?.started ?? ''
}

function listProcesses(belonging: Belonging): Row[] {
  return idsOfProcesses()
    .filter((id) => id !== process.pid)
    .map((id) => readRow(id, belonging))
    .filter((row) => row !== undefined)
}

function idsOfProcesses(): number[] {
  try {
    return readdirSync('/proc')
      .map(Number)
      .filter((id) => id > 1)
  } catch {
    return []
  }
}

/** Nothing when the process is gone or only waits to be reaped. */
function readRow(id: number, { marker, directory }: Belonging): Row | undefined {
  const stat = readStat(id)
  if (stat === undefined || stat.state === 'Z' || stat.state === 'X') return undefined
  return {
    id,
    ...stat,
    marked: markOf(id, stat.started).startsWith(marker),
    inside: stat.parent === 1 && `${orEmpty(() => readlinkSync(`/proc/${id}/cwd`))}/`.startsWith(`${directory}/`),
  }
}

/** Cache of markers by process id. Each scan meets the same processes, and most of them belong to no sandbox. */
const marks = new Map<number, { started: string; mark: string }>()
const mostMarks = 1_000

/** The marker in its environment; empty when it has none. A process has it from its first moment or never, so it is read once. */
function markOf(id: number, started: string): string {
  const known = marks.get(id)
  if (known?.started === started) return known.mark
  const environment = orEmpty(() => readFileSync(`/proc/${id}/environ`, 'latin1'))
  const found = environment.split('\0').find((entry) => entry.startsWith(`${markerName}=`)) ?? ''
  // A copy, which does not hold the whole environment in memory.
  const mark = Buffer.from(found, 'latin1').toString('latin1')
  if (marks.size > mostMarks) marks.clear()
  // An environment is empty for a moment while a program takes the place of another.
  if (environment !== '') marks.set(id, { started, mark })
  return mark
}

function readStat(id: number): { state: string; parent: number; session: number; started: string } | undefined {
  const stat = orEmpty(() => readFileSync(`/proc/${id}/stat`, 'latin1'))
  // The name stands in parentheses and may hold anything, also parentheses and spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state = '', parent, , session] = fields
  if (stat === '') return undefined
  return { state, parent: Number(parent), session: Number(session), started: fields[19] ?? '' }
}

/** Processes come and go while we look, and those of other users keep their things to themselves. */
function orEmpty(read: () => string): string {
  try {
    return read()
  } catch {
    return ''
  }
}

function signal(id: number, name: NodeJS.Signals): void {
  try {
    process.kill(id, name)
  } catch {
    // It is gone, which is what was wanted; if not, the next look finds it again.
  }
}
