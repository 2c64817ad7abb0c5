// Starts and ends a sandbox program. Without an argument it runs the task in HANDOFF_TASK; with one it is the child process that reads the
// repository.
import type { ProgramTask } from '../../domain/sandbox-protocol.js'
import { emit, ProgramError } from './emit-record.js'
import type { ChildWork } from './untrusted-child.js'

export interface Secrets {
  drive: string
  clone: string
}

interface Program {
  run(task: ProgramTask, secrets: Secrets): Promise<void>
  child(what: ChildWork, task: ProgramTask): Promise<void>
}

export function startProgram(program: Program): void {
  main(program).catch((error: unknown) => {
    const failure = error instanceof ProgramError ? error.failure : 'internal'
    emit({
      type: 'failed',
      code: failure,
      message: error instanceof Error ? error.message.slice(0, 500) : 'it did not say why',
    })
    // Exits at once, because a pending timer or child process would keep the sandbox alive for minutes.
    process.exit(1)
  })
}

async function main(program: Program): Promise<void> {
  const secrets = takeSecrets()
  const task = JSON.parse(process.env['HANDOFF_TASK'] ?? '{}') as ProgramTask
  const what = process.argv[2] as ChildWork | undefined
  process.umask(0o022)
  if (what !== undefined) return program.child(what, task)
  await program.run(task, secrets)
  emit({ type: 'done' })
  // At once: the host waits for the end, and to give all memory back takes tens of milliseconds.
  process.exit()
}

/** Removes the secrets from this process's environment, so that no child inherits them. */
function takeSecrets(): Secrets {
  const drive = process.env['DRIVE9_API_KEY'] ?? ''
  const clone = process.env['HANDOFF_CLONE_TOKEN'] ?? ''
  delete process.env['DRIVE9_API_KEY']
  delete process.env['HANDOFF_CLONE_TOKEN']
  return { drive, clone }
}

export function unknownWork(what: string, task: ProgramTask): ProgramError {
  return new ProgramError('internal', `there is no work called ${what} for the task ${task.task}`)
}
