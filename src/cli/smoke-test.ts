// The smoke test: does what a summary and an answer stand on, and nothing else. One sandbox mounts, writes and drains; the host reads back; a
// second sandbox reads the same bytes; both are destroyed. No model is asked.
import { createHash, randomUUID } from 'node:crypto'
import { type AppContext, HandoffError } from '../handoff/index.js'
import type { Terminal } from './terminal.js'

/** Everything that differs from run to run comes in by the environment. Without its supervisor the mount fails at once. Its log says why. */
const mounting = `set -e
fail() { echo "$1" >&2; exit 1; }
tell() { cat "$HOME/mount.log" "$HOME"/.cache/drive9/mount-logs/*.log >&2 || true; exit 1; }
mkdir -p "$HOME/run"
drive9 mount --profile=none --no-supervise --server "$DRIVE9_SERVER" $MODE ":$REMOTE" "$HOME/run" >"$HOME/mount.log" 2>&1 </dev/null || tell
drive9 mount health "$HOME/run"
test "$(cat "$HOME/run/marker")" = "$MARKER" || fail 'the mount does not show the directory of this test'`

const writing = `${mounting}
printf %s "$TEXT" >"$HOME/written"
cp "$HOME/written" "$HOME/run/written.tmp"
sync "$HOME/run/written.tmp"
mv -f "$HOME/run/written.tmp" "$HOME/run/written"
drive9 mount drain --timeout 60s --json "$HOME/run" || tell
drive9 umount --timeout 60s "$HOME/run"`

const reading = `${mounting}
sum=$(sha256sum <"$HOME/run/written")
echo "$sum" | cut -c1-64
drive9 umount --timeout 60s "$HOME/run"`

export async function smokeTest(context: AppContext, terminal: Terminal, signal: AbortSignal): Promise<void> {
  const { drive } = context.ports
  const directory = `${context.root}/smoke/${context.ports.uniqueId()}`
  const marker = randomUUID()
  const text = `written at ${new Date(context.ports.clock.now()).toISOString()} ${randomUUID()}`
  const encode = (value: string) => new TextEncoder().encode(value)
  try {
    await timed(terminal, 'directory and marker', () =>
      drive.write(`${directory}/marker`, encode(marker), { expectedRevision: 0, signal }),
    )
    const environment = { DRIVE9_SERVER: drive.server, REMOTE: directory, MARKER: marker, TEXT: text, MODE: '' }
    await timed(terminal, 'sandbox 1: mount, write, drain', () =>
      inSandbox(context, directory, writing, environment, ['read', 'list', 'write', 'delete'], signal),
    )
    const stored = await timed(terminal, 'host reads back', () => drive.digest(`${directory}/written`, signal))
    const wanted = createHash('sha256').update(text).digest('hex')
    expectSame('the host', stored?.sha256, wanted)
    const read = await timed(terminal, 'sandbox 2: mount, read', () =>
      inSandbox(context, directory, reading, { ...environment, MODE: '--read-only' }, ['read', 'list'], signal),
    )
    expectSame('the second sandbox', read.trim().split('\n').at(-1), wanted)
  } finally {
    await drive
      .remove(directory, { recursive: true, signal: AbortSignal.timeout(10_000) })
      .catch((error: Error) => terminal.line(`  The directory ${directory} could not be removed: ${error.message}`))
  }
}

type Operations = ('read' | 'list' | 'write' | 'delete')[]

async function inSandbox(
  context: AppContext,
  directory: string,
  script: string,
  environment: Record<string, string>,
  operations: Operations,
  signal: AbortSignal,
): Promise<string> {
  const { sandboxes, drive } = context.ports
  const sandbox = await sandboxes.open(
    { metadata: { handoff: '1', role: 'smoke' }, lifetimeMs: 300_000, egress: drive.hosts },
    signal,
  )
  try {
    const token = await drive.issueToken(
      { prefix: directory, operations, lifetimeSeconds: 300, subject: 'handoff-smoke' },
      signal,
    )
    let output = ''
    const { exitCode, stderrTail } = await sandbox.run(script, {
      environment: { ...environment, DRIVE9_API_KEY: token.secret },
      timeoutMs: 120_000,
      onOutput: (text) => {
        output += text
      },
      signal,
    })
    await drive.revokeToken(token.id, signal)
    if (exitCode === 0) return output
    const reason = (stderrTail.trim() || output.trim()).split('\n').at(-1) || 'it did not say why'
    throw new HandoffError('sandbox', `The sandbox could not use the directory (exit ${exitCode}): ${reason}`, {
      next: 'Check the template (npm run template) and that a sandbox can reach DRIVE9_SERVER.',
    })
  } finally {
    await sandbox.kill()
  }
}

function expectSame(who: string, found: string | undefined, wanted: string): void {
  if (found === wanted) return
  throw new HandoffError('drive', `What ${who} read is not what the first sandbox wrote.`, {
    next: 'Look at the drive9 server; nothing is safe on it.',
  })
}

async function timed<T>(terminal: Terminal, what: string, work: () => Promise<T>): Promise<T> {
  const start = performance.now()
  const result = await work()
  terminal.line(`  ✓ ${what.padEnd(34)} ${((performance.now() - start) / 1_000).toFixed(2)} s`)
  return result
}
