// The untrusted half: child processes that read the repository. They get no secret, and the parent forwards only allowed record types.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { ProgramTask } from '../../domain/sandbox-protocol.js'
import { ProgramError, writeAll } from './emit-record.js'
import { forwardRecords } from './forward-records.js'
import { lastLine, spawnError, spawnOptions, untrustedAccount } from './spawn.js'

export type ChildWork = 'survey' | 'index' | 'tree' | 'find'

/**
 * The child's records are forwarded once `proven` is fulfilled, and never if it is rejected. A child that calls `untilReady` waits for `ready`, so that
 * it starts beside what it needs.
 */
export function runChild(
  work: ChildWork,
  task: ProgramTask,
  home: string,
  proven: Promise<unknown> = Promise.resolve(),
  ready: Promise<unknown> = Promise.resolve(),
): Promise<void> {
  const account = untrustedAccount(home)
  return new Promise((resolve, reject) => {
    const child = spawn(
      process.execPath,
      ['--max-old-space-size=1536', '--max-semi-space-size=4', fileURLToPath(import.meta.url), work],
      {
        ...spawnOptions(home, { environment: { HANDOFF_TASK: JSON.stringify(task) }, ...(account ? { account } : {}) }),
        stdio: ['pipe', 'pipe', 'pipe'],
      },
    )
    // A child that has ended closes its input; its exit code is what counts.
    child.stdin?.on('error', () => {})
    ready.then(() => child.stdin?.end(), reject)
    let stderr = ''
    child.stdout?.on('data', forwardRecords({ proven, write: writeAll, reject }))
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-4_000)
    })
    child.on('error', (error: NodeJS.ErrnoException) => reject(spawnError('node', error)))
    child.on('close', (code) => {
      if (code === 0) proven.then(() => resolve(), reject)
      else reject(new ProgramError('internal', `${work} ended with ${code ?? 'a signal'}: ${lastLine(stderr)}`))
    })
  })
}

/** In the child: resolves when its parent has what it needs. */
export async function untilReady(): Promise<void> {
  for await (const _ of process.stdin);
}
