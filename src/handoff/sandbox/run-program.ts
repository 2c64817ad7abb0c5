// Runs a sandbox program: one command, one round trip, typed records back.
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { driveAdvice } from '../domain/drive-advice.js'
import { type ErrorCode, HandoffError } from '../domain/errors.js'
import type { Sandbox } from '../domain/ports.js'
import type { ProgramFailure, ProgramTask } from '../domain/sandbox-protocol.js'
import type { ProgramRecord } from '../domain/sandbox-protocol-decoder.js'
import { createRecordReader } from '../domain/sandbox-protocol-decoder.js'
import { makeRedactor } from '../domain/secrets/redactor.js'
import { awaitedLater } from '../util/abort.js'

export type ProgramName = 'survey' | 'search'

/** Returns the source of a built program. */
export type LoadProgram = (name: ProgramName) => Promise<string>

interface ProgramRun {
  program: LoadProgram
  task: ProgramTask
  secrets: Record<string, string>
  timeoutMs: number
  signal: AbortSignal
  onRecord: (record: ProgramRecord) => void
}

/** Until the program says that it is done. Its process still ends then, which takes some ten milliseconds. */
export async function runProgram(sandbox: Sandbox, run: ProgramRun): Promise<void> {
  let failure: Extract<ProgramRecord, { type: 'failed' }> | undefined
  let done = false
  const said = Promise.withResolvers<undefined>()
  // drive9 and git have a token in their environment and may print it in an error.
  const redact = makeRedactor(Object.values(run.secrets))
  const reader = createRecordReader((record) => {
    // The caller has what it got; whatever comes later may not change it.
    if (done) return
    if (record.type === 'failed') {
      failure = { ...record, message: redact(record.message) }
      run.onRecord(failure)
    } else if (record.type === 'done') {
      done = true
      said.resolve(undefined)
    } else if (record.type === 'notice') run.onRecord({ ...record, text: redact(record.text) })
    else run.onRecord(record)
  })
  const command = await commandFor(run.program, run.task.task === 'summarise' ? 'survey' : 'search')
  const running = sandbox.run(command, {
    environment: { ...run.secrets, ...mountBegun(run.task), HANDOFF_TASK: JSON.stringify(run.task) },
    timeoutMs: run.timeoutMs,
    onOutput: reader.push,
    signal: run.signal,
  })
  const end = await Promise.race([awaitedLater(running), said.promise])
  if (end) reader.end()
  if (failure) throw programError(failure)
  if (end && (end.exitCode !== 0 || !done)) throw endedEarlyError(end.exitCode, redact(end.stderrTail))
}

const compress = promisify(gzip)
const commands = {
  survey: new WeakMap<LoadProgram, Promise<string>>(),
  search: new WeakMap<LoadProgram, Promise<string>>(),
}

/** The first search mounts. Its mount takes longer than Node to start, so the shell begins it; the program reads how it ended. */
const mountBeside =
  'exec 2>&1; [ -z "$DRIVE9_REMOTE" ] || { unset HANDOFF_TASK; mkdir -p "$HOME/run"; ' +
  'drive9 mount --profile=none --no-supervise --read-only --server "$DRIVE9_SERVER" ":$DRIVE9_REMOTE" "$HOME/run"; echo "exit $?"; }'

function mountBegun(task: ProgramTask): Record<string, string> {
  if (task.task !== 'find' || task.again) return {}
  return { DRIVE9_SERVER: task.mount.server, DRIVE9_REMOTE: task.mount.remote }
}

/** The command contains the program, compressed, because a command may have 128 KiB. Nothing in it depends on any input. */
function commandFor(program: LoadProgram, name: ProgramName): Promise<string> {
  const known = commands[name].get(program)
  if (known) return known
  const made = program(name).then(async (text) => {
    const packed = (await compress(text, { level: 9 })).toString('base64')
    return [
      'umask 022 && mkdir -p "$HOME/handoff" && cd "$HOME/handoff" &&',
      "base64 -d <<'END' | gzip -d > program.mjs &&",
      packed.replace(/.{1000}/g, '$&\n'),
      'END',
      name === 'search' ? `exec node program.mjs < <(${mountBeside})` : 'exec node program.mjs',
    ].join('\n')
  })
  commands[name].set(program, made)
  return made
}

const errorsByFailure: Record<ProgramFailure, { code: ErrorCode; next: string }> = {
  'mount-failed': {
    code: 'drive',
    next: 'Check that the sandbox can reach DRIVE9_SERVER and that its template has fuse3 and drive9.',
  },
  'clone-refused': {
    code: 'git',
    next: 'Give a clone-token that may read the repository, and check the name of the repository.',
  },
  'no-such-commit': { code: 'not-found', next: 'Check the commit id; it may have been force-pushed away.' },
  'clone-failed': { code: 'git', next: 'Try again; if it stays so, check that the sandbox can reach the git host.' },
  'empty-repository': { code: 'not-found', next: 'Push a commit first.' },
  'store-failed': { code: 'drive', next: 'Try again; nothing was sealed.' },
  'not-drained': {
    code: 'drive',
    next: 'Try again; nothing was sealed. If it stays so, look at the quota of the drive9 account.',
  },
  'fetch-failed': { code: 'drive', next: driveAdvice.unreachable },
  'drive-full': { code: 'drive-quota', next: driveAdvice.full },
  'drive-too-large': { code: 'drive', next: driveAdvice.tooLarge },
  'drive-refused': {
    code: 'drive',
    next: 'Try again: a new run gets a new token. If it stays so, check that DRIVE9_API_KEY is the owner’s key and that no other program revokes its tokens.',
  },
  'drive-unreachable': { code: 'drive', next: driveAdvice.unreachable },
  corrupt: { code: 'corrupt', next: 'Summarise the commit again with force.' },
  'too-many-files': {
    code: 'invalid-input',
    next: 'Such a commit cannot be summarised; remove the generated files from it.',
  },
  'tool-missing': { code: 'sandbox', next: 'Build the template again with npm run template.' },
  'drive9-too-old': {
    code: 'sandbox',
    next: 'Build the template again with npm run template, or take a newer program: one published since June 2026 (DRIVE9_BINARY_URL, DRIVE9_BINARY_SHA256).',
  },
  internal: { code: 'sandbox', next: 'Try again; if it stays so, report it with the run id.' },
}

function programError(failure: { code: ProgramFailure; message: string }): HandoffError {
  const { code, next } = errorsByFailure[failure.code]
  const message = failure.message.replace(/\.$/, '')
  return new HandoffError(code, `In the sandbox: ${message}.`, { next })
}

function endedEarlyError(exitCode: number, stderrTail: string): HandoffError {
  const last = stderrTail.trim().split('\n').at(-1)?.slice(0, 300)
  return new HandoffError(
    'sandbox',
    `The program in the sandbox ended early (exit ${exitCode})${last ? `: ${last}` : ''}.`,
    {
      next:
        exitCode === -1 || exitCode === 137
          ? 'The sandbox may be out of memory: use a template with more memory.'
          : 'Try again.',
    },
  )
}
