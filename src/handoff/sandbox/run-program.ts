// Runs the guest program in a sandbox: one command, one crossing, typed records back.

import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { driveAdvice } from '../domain/drive-advice.js'
import { type ErrorCode, HandoffError } from '../domain/errors.js'
import type { Sandbox } from '../domain/ports.js'
import type { GuestFailure, GuestRecord, GuestTask } from '../domain/sandbox-protocol.js'
import { recordReader } from '../domain/sandbox-protocol-decoder.js'
import { makeRedactor } from '../domain/secrets/redactor.js'

/** The text of the program for a walk; bundled once, read once by whoever starts the process. */
export type GuestProgram = (timer: 'summarise' | 'ask') => Promise<string>

export interface GuestRun {
  program: GuestProgram
  task: GuestTask
  secrets: Record<string, string>
  timeoutMs: number
  signal: AbortSignal
  onRecord: (record: GuestRecord) => void
}

export async function runGuest(sandbox: Sandbox, run: GuestRun): Promise<void> {
  let failure: Extract<GuestRecord, { type: 'failed' }> | undefined
  let done = false
  // Programs in there are handed a token and may repeat it when they complain.
  const redact = makeRedactor(Object.values(run.secrets))
  const reader = recordReader((record) => {
    if (record.type === 'failed') {
      failure = { ...record, message: redact(record.message) }
      run.onRecord(failure)
    } else if (record.type === 'done') done = true
    else if (record.type === 'notice') run.onRecord({ ...record, text: redact(record.text) })
    else run.onRecord(record)
  })
  const { exitCode, stderrTail } = await sandbox.run(
    await commandFor(run.program, run.task.task === 'summarise' ? 'summarise' : 'ask'),
    {
      environment: { ...run.secrets, HANDOFF_TASK: JSON.stringify(run.task) },
      timeoutMs: run.timeoutMs,
      onOutput: reader.push,
      signal: run.signal,
    },
  )
  reader.end()
  if (failure) throw guestError(failure)
  if (exitCode !== 0 || !done) throw unfinished(exitCode, redact(stderrTail))
}

const compress = promisify(gzip)
const commands = {
  summarise: new WeakMap<GuestProgram, Promise<string>>(),
  ask: new WeakMap<GuestProgram, Promise<string>>(),
}

/** The program travels inside the command: packed, because a command may have 128 KiB. Nothing in it depends on any input. */
function commandFor(program: GuestProgram, timer: 'summarise' | 'ask'): Promise<string> {
  const known = commands[timer].get(program)
  if (known) return known
  const made = program(timer).then(async (text) => {
    const packed = (await compress(text, { level: 9 })).toString('base64')
    return [
      'umask 022 && mkdir -p "$HOME/handoff" && cd "$HOME/handoff" &&',
      "base64 -d <<'END' | gunzip > guest.mjs && exec node guest.mjs",
      packed.replace(/.{1000}/g, '$&\n'),
      'END',
    ].join('\n')
  })
  commands[timer].set(program, made)
  return made
}

const codes: Record<GuestFailure, { code: ErrorCode; next: string }> = {
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
  'tool-missing': { code: 'sandbox', next: 'Build the template again with npm run template.' },
  'drive9-too-old': {
    code: 'sandbox',
    next: 'Build the template again with npm run template, or take a newer program: one published since June 2026 (DRIVE9_BINARY_URL, DRIVE9_BINARY_SHA256).',
  },
  internal: { code: 'sandbox', next: 'Try again; if it stays so, report it with the run id.' },
}

function guestError(failure: { code: GuestFailure; message: string }): HandoffError {
  const { code, next } = codes[failure.code]
  const message = failure.message.replace(/\.$/, '')
  return new HandoffError(code, `In the sandbox: ${message}.`, { next })
}

function unfinished(exitCode: number, stderrTail: string): HandoffError {
  const last = stderrTail.trim().split('\n').at(-1)?.slice(0, 300)
  return new HandoffError(
    'sandbox',
    `The program in the sandbox ended early (exit ${exitCode})${last ? `: ${last}` : ''}.`,
    {
      next:
        exitCode === -1 || exitCode === 137
          ? 'The machine may be out of memory: use a template with more.'
          : 'Try again.',
    },
  )
}
