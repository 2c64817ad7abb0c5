// Sandbox programs that run once and are repeated. The first time a task comes, the real program does it in its sandbox, and what it printed and
// stored is recorded. From then on the same task prints and stores the same, in a hundredth of the time. A suite shares its recordings.
//
// Nothing is repeated that would have ended otherwise: what the program would read (the clone's address, the artifacts with their hashes) is asked
// for first, with the token of the task. If one of these calls fails, the real program runs. Only whole runs are recorded.
//
// A script comes first on the sandboxes' PATH as `node`. It asks the test's process what to do. Each other Node program runs as it is. Another is
// `drive9`, because a mount begins beside the program.
import { createHash, randomUUID } from 'node:crypto'
import { chmodSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject } from 'vitest'
import type { ProgramTask } from '../../src/handoff/domain/sandbox-protocol.js'
import type { ProgramRecord } from '../../src/handoff/domain/sandbox-protocol-decoder.js'
import { ampleWaitMs, type Caller, makeCaller } from './scripted-program.js'

interface Recording {
  output: string
  /** What the program stored, by path relative to the run directory. */
  files: { path: string; base64: string }[]
}

export interface RepeatedProgramsOptions {
  /** The question that is searched for in place of every other, for tests that ask often and do not check the search. */
  searchFor?: string
}

export interface RepeatedPrograms extends AsyncDisposable {
  /** How many tasks the real program did, and how many were repeated. */
  counts: { run: number; repeated: number }
  /** To come first on the PATH of the sandboxes. */
  folder: string
}

export async function startRepeatedPrograms(options: RepeatedProgramsOptions = {}): Promise<RepeatedPrograms> {
  const folder = mkdtempSync(join(tmpdir(), 'repeated-'))
  chmodSync(folder, 0o755)
  const counts = { run: 0, repeated: 0 }
  const server = createServer((socket) => void serve(socket, options, counts))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  writeFileSync(join(folder, 'drive9'), mountScript, { mode: 0o755 })
  writeFileSync(join(folder, 'node'), script((server.address() as AddressInfo).port), { mode: 0o755 })
  return {
    counts,
    folder,
    async [Symbol.asyncDispose]() {
      rmSync(folder, { recursive: true, force: true })
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** The mount that begins beside a program waits for whether the program runs. */
const mountScript = `#!/bin/bash
if [ -f program.mjs ]; then
  mkfifo "$TMPDIR/mount" 2> /dev/null
  read -r wanted < "$TMPDIR/mount"
  [ "$wanted" = yes ] || exit 0
fi
PATH=\${PATH#*:} exec drive9 "$@"
`

/** The host ends the sandbox when it reads this, so it comes when all is recorded. */
const lastLine = JSON.stringify({ v: 1, type: 'done' })

const script = (port: number) => `#!/bin/bash
[ "$*" = program.mjs ] || exec ${process.execPath} "$@"
exec 3<> "/dev/tcp/127.0.0.1/${port}" || exit 1
tell_mount() { [ -z "$DRIVE9_REMOTE" ] || { mkfifo "$TMPDIR/mount" 2> /dev/null; echo "$1" > "$TMPDIR/mount"; }; }
printf '%s\\0' "$(sha256sum < program.mjs)" "$DRIVE9_API_KEY" "$HANDOFF_CLONE_TOKEN" "$HANDOFF_TASK" >&3
while read -r doing <&3; do
  case $doing in
    repeat) tell_mount no; exec cat <&3 ;;
    task) IFS= read -r -d '' HANDOFF_TASK <&3; export HANDOFF_TASK ;;
    run)
      tell_mount yes
      ${process.execPath} program.mjs 3>&- | tee "$TMPDIR/output" | grep --line-buffered -vxF '${lastLine}'
      code=\${PIPESTATUS[0]}
      { cat "$TMPDIR/output"; printf '\\0'; } >&3
      read -r _ <&3
      grep -xF '${lastLine}' "$TMPDIR/output"
      exit "$code"
      ;;
  esac
done
exit 1
`

interface Call {
  /** Hash of the program's text. */
  program: string
  key: string
  cloneToken: string
  task: ProgramTask
}

async function serve(socket: Socket, { searchFor }: RepeatedProgramsOptions, counts: RepeatedPrograms['counts']) {
  const stop = new AbortController()
  socket.on('error', () => undefined)
  socket.once('close', () => stop.abort())
  const heard = hear(socket)
  const call = await heard.call
  if (call === undefined) return void socket.destroy()
  const asked = call.task
  if (searchFor !== undefined && asked.task === 'find' && asked.requests.length === 0)
    call.task = { ...asked, search: { ...asked.search, question: searchFor, terms: [], earlier: [] } }
  const place = join(inject('recordings'), `${keyOf(call)}.json`)
  const recording = existsSync(place) ? (JSON.parse(readFileSync(place, 'utf8')) as Recording) : undefined
  const drive = makeCaller(call.task.mount, call.key, ampleWaitMs, stop.signal)
  if (recording && (await succeeds(repeat(recording, call, drive)))) {
    counts.repeated += 1
    return void socket.end(`repeat\n${recording.output}`)
  }
  counts.run += 1
  if (call.task !== asked) socket.write(`task\n${JSON.stringify(call.task)}\0`)
  socket.write('run\n')
  const made = await record(await heard.output, call, drive)
  // The script waits for this end, and the token opens the directory until then.
  socket.end('\n')
  if (made === undefined) return
  const unfinished = `${place}.${randomUUID()}`
  writeFileSync(unfinished, JSON.stringify(made))
  renameSync(unfinished, place)
}

const succeeds = (work: Promise<unknown>) =>
  work.then(
    () => true,
    () => false,
  )

/** What the script says: four words, then what the real program prints. */
function hear(socket: Socket): { call: Promise<Call | undefined>; output: Promise<string> } {
  const call = Promise.withResolvers<Call | undefined>()
  const output = Promise.withResolvers<string>()
  let text = ''
  socket.setEncoding('utf8').on('data', (piece: string) => {
    text += piece
    const [program = '', key = '', cloneToken = '', task, printed, ended] = text.split('\0')
    if (task !== undefined && printed !== undefined)
      call.resolve({ program, key, cloneToken, task: JSON.parse(task) as ProgramTask })
    if (ended !== undefined) output.resolve(printed ?? '')
  })
  socket.once('close', () => {
    call.resolve(undefined)
    output.resolve('')
  })
  return { call: call.promise, output: output.promise }
}

/** Addresses, names of runs and tokens do not change what the program does. */
function keyOf({ program, task }: Call): string {
  const { mount: _mount, addresses: _, clone, ...rest } = { clone: undefined, addresses: undefined, ...task }
  return sha256(JSON.stringify([program, { ...rest, clone: clone && { ...clone, url: '' } }]))
}

async function repeat({ files }: Recording, { task, cloneToken }: Call, drive: Caller): Promise<void> {
  await check(drive, task.mount.marker)
  if (task.task === 'find') return void (await Promise.all(task.artifacts.map((one) => check(drive, one))))
  const authorization = `Basic ${Buffer.from(`x-access-token:${cloneToken}`).toString('base64')}`
  const answer = await fetch(`${task.clone.url}/info/refs?service=git-upload-pack`, {
    headers: cloneToken === '' ? {} : { authorization },
  })
  if (!answer.ok) throw new Error(`The git host says ${answer.status}.`)
  await answer.arrayBuffer()
  await Promise.all(files.map(({ path, base64 }) => drive.store(path, Buffer.from(base64, 'base64'))))
}

async function check(drive: Caller, { path, sha256: wanted }: { path: string; sha256: string }): Promise<void> {
  if (sha256(await drive.read(path)) !== wanted) throw new Error(`${path} has changed.`)
}

/** Undefined if the run was not whole, or if it printed what is another thing in another run. */
async function record(output: string, { task }: Call, drive: Caller): Promise<Recording | undefined> {
  const records = output.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as ProgramRecord]))
  if (records.at(-1)?.type !== 'done' || records.some(({ type }) => type === 'stored-tree')) return undefined
  if ('mount' in task && output.includes(task.mount.remote)) return undefined
  const stored = records.flatMap((one) => (one.type === 'stored' ? [one.path] : []))
  const files = await Promise.all(
    stored.map(async (path) => ({ path, base64: (await drive.read(path)).toString('base64') })),
  ).catch(() => undefined)
  return files && { output, files }
}

const sha256 = (bytes: string | Uint8Array) => createHash('sha256').update(bytes).digest('hex')
