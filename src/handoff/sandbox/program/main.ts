// How a program inside a sandbox starts and ends. Without an argument it does the task in HANDOFF_TASK; with one it is its own child and does the
// part of the task that touches the repository.
import type { ProgramTask } from '../../domain/sandbox-protocol.js'
import { emit, ProgramError } from './emit-record.js'
import type { ChildWork } from './untrusted-child.js'

export interface Secrets {
  drive: string
  clone: string
}

export interface Program {
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
    // At once: a timer or a process that is still under way would hold the machine for minutes.
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
}

/** Takes the secrets out of our own environment, so that no child inherits them by accident. */
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
