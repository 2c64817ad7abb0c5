// `drive9 mount drain`: waits until nothing is left to upload, and tells the truth about what is.
import type { Mirror } from './mirror.js'
import type { Queue } from './upload-queue.js'

export interface DrainReport {
  ok: boolean
  mount_point: string
  started_at: string
  completed_at: string
  duration_ms: number
  error?: string
  error_kind?: string
  failed_path?: string
  native_syncfs_supported: false
  pending: DrainPending
  phases: { name: string; duration_ms: number; error?: string }[]
}

interface DrainPending {
  open_handles: number
  dirty_handles: number
  commit_queue_pending: number
  commit_queue_bytes: number
  commit_queue_in_flight: number
  commit_queue_delayed: number
  commit_queue_conflicts: number
  uploader_queued: number
  uploader_in_flight: number
  uploader_cached: number
  uploader_cached_bytes: number
}

interface Drained {
  mirror: Mirror
  queue: Queue
  mountpoint: string
}

interface Problem {
  kind: string
  path: string
  text: string
}

export async function drain({ mirror, queue, mountpoint }: Drained, timeout: number): Promise<DrainReport> {
  const start = Date.now()
  const left = () => Math.max(timeout - (Date.now() - start), 0)
  const phases: DrainReport['phases'] = []
  let problem: Problem | undefined

  async function phase(name: string, work: () => Promise<Problem | undefined>): Promise<void> {
    if (problem) return
    const began = Date.now()
    problem = await work()
    phases.push({ name, duration_ms: Date.now() - began, ...(problem ? { error: problem.text } : {}) })
  }

  const nothing = async () => undefined
  await phase('flush_debounced', nothing)
  await phase('flush_open_handles', () => within(mirror.reconcile(true), left()))
  await phase('git_overlay', nothing)
  await phase('writeback_uploader', nothing)
  await phase('commit_queue', async () => {
    if (await queue.idle(left())) return undefined
    return { kind: 'timeout', path: queue.counts().firstPath, text: 'context deadline exceeded' }
  })
  await phase('notifications', nothing)

  const pending = pendingOf(mirror, queue)
  problem ??= remaining(pending)
  return {
    ok: problem === undefined,
    mount_point: mountpoint,
    started_at: new Date(start).toISOString(),
    completed_at: new Date().toISOString(),
    duration_ms: Date.now() - start,
    ...(problem ? { error: problem.text, error_kind: problem.kind } : {}),
    ...(problem?.path ? { failed_path: problem.path } : {}),
    native_syncfs_supported: false,
    pending,
    phases,
  }
}

async function within(work: Promise<void>, milliseconds: number): Promise<Problem | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<Problem>((resolve) => {
    const problem = { kind: 'timeout', path: '', text: 'context deadline exceeded' }
    timer = setTimeout(() => resolve(problem), milliseconds)
  })
  const done = work.then(
    () => undefined,
    (error: unknown) => ({ kind: 'error', path: '', text: error instanceof Error ? error.message : String(error) }),
  )
  try {
    return await Promise.race([done, late])
  } finally {
    clearTimeout(timer)
  }
}

function pendingOf(mirror: Mirror, queue: Queue): DrainPending {
  const { waiting, underWay, bytes } = queue.counts()
  return {
    open_handles: 0,
    dirty_handles: mirror.unnoticed(),
    commit_queue_pending: waiting + underWay,
    commit_queue_bytes: bytes,
    commit_queue_in_flight: underWay,
    commit_queue_delayed: 0,
    commit_queue_conflicts: mirror.conflicts().length,
    uploader_queued: 0,
    uploader_in_flight: 0,
    uploader_cached: 0,
    uploader_cached_bytes: 0,
  }
}

function remaining(pending: DrainPending): Problem | undefined {
  const counted = ['dirty_handles', 'commit_queue_pending', 'commit_queue_in_flight', 'commit_queue_conflicts'] as const
  if (counted.every((name) => pending[name] === 0)) return undefined
  const text = counted.map((name) => `${name}=${pending[name]}`).join(' ')
  return { kind: 'pending_work_remaining', path: '', text: `pending work remains after drain: ${text}` }
}
