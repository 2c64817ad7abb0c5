// What the stories may expect of `Sandboxes`, whatever cloud stands behind it.
import { describe, expect, test } from 'vitest'
import type { RunOptions, Sandbox, Sandboxes, SandboxRequest } from '../../src/handoff/domain/ports.js'
import { refusal } from '../support/refusal.js'
import { until } from '../support/until.js'

/** Fails unless it rejects with our own error. */
const never = new AbortController().signal

export function request(more: Partial<SandboxRequest> = {}): SandboxRequest {
  return { metadata: { test: crypto.randomUUID() }, lifetimeMs: 120_000, egress: [], ...more }
}

export function runOptions(more: Partial<RunOptions> = {}): RunOptions {
  return { environment: {}, timeoutMs: 60_000, onOutput: () => undefined, signal: never, ...more }
}

export function sandboxesContract(name: string, sandboxes: () => Sandboxes): void {
  async function withSandbox(
    act: (sandbox: Sandbox, asked: SandboxRequest) => Promise<void>,
    more: Partial<SandboxRequest> = {},
  ) {
    const asked = request(more)
    const sandbox = await sandboxes().open(asked, never)
    try {
      await act(sandbox, asked)
    } finally {
      await sandbox.kill()
    }
  }

  describe(name, () => {
    test('a machine is found by its metadata until it is killed', async () => {
      const asked = request()
      const sandbox = await sandboxes().open(asked, never)
      const found = await sandboxes().find(asked.metadata, never)
      expect(found.map(({ id }) => id)).toEqual([sandbox.id])
      expect(found[0]!.metadata).toMatchObject(asked.metadata)
      expect(Math.abs(Date.now() - Date.parse(found[0]!.startedAt))).toBeLessThan(60_000)
      await Promise.all([sandbox.kill(), sandbox.kill()])
      await sandbox.kill()
      expect(await sandboxes().find(asked.metadata, never)).toEqual([])
      expect(await sandboxes().kill(sandbox.id, never)).toBe(false)
    })

    test('a machine can be killed by its id alone', async () => {
      const sandbox = await sandboxes().open(request(), never)
      expect(await sandboxes().kill(sandbox.id, never)).toBe(true)
      expect(await sandboxes().kill(sandbox.id, never)).toBe(false)
      await sandbox.kill()
    })

    test('output comes in order and as it comes; any exit code is a result', async () => {
      await withSandbox(async (sandbox) => {
        const seen: string[] = []
        const options = runOptions({ environment: { SECRET: 'a "b" $c' }, onOutput: (text) => void seen.push(text) })
        const script = 'printf "%s\\n" "$SECRET" one é; echo wrong >&2; exit 7'
        expect(await sandbox.run(script, options)).toEqual({ exitCode: 7, stderrTail: 'wrong\n' })
        expect(seen.join('')).toBe('a "b" $c\none\né\n')
        expect(await sandbox.run('kill -9 $$', runOptions())).toEqual({ exitCode: -1, stderrTail: '' })
      })
    })

    test('of the errors only the end is kept', async () => {
      await withSandbox(async (sandbox) => {
        const { stderrTail } = await sandbox.run(
          'head -c 100000 /dev/zero | tr "\\0" x >&2; echo end >&2',
          runOptions(),
        )
        expect(stderrTail.length).toBeLessThanOrEqual(4_000)
        expect(stderrTail.endsWith('xend\n')).toBe(true)
      })
    })

    test('a command that takes too long is a timeout, and its output is not in the message', async () => {
      await withSandbox(async (sandbox) => {
        const error = await refusal(sandbox.run('echo word-that-was-printed; sleep 60', runOptions({ timeoutMs: 500 })))
        expect(error.code).toBe('timeout')
        expect(JSON.stringify(error)).not.toContain('word-that-was-printed')
      })
    })

    test('an abort stops waiting and ends the command', async () => {
      await withSandbox(async (sandbox) => {
        const stop = new AbortController()
        const onOutput = () => stop.abort()
        const script = 'echo $$ >"$HOME/process"; echo started; exec sleep 60'
        expect((await refusal(sandbox.run(script, runOptions({ signal: stop.signal, onOutput })))).code).toBe(
          'cancelled',
        )
        const look = 'kill -0 "$(cat "$HOME/process")" 2>/dev/null'
        await until('the command is gone', async () => (await sandbox.run(look, runOptions())).exitCode !== 0)
        const late = AbortSignal.abort(new DOMException('', 'TimeoutError'))
        expect((await refusal(sandbox.run('true', runOptions({ signal: late })))).code).toBe('timeout')
      })
    })

    test('what the listener throws goes through as it is', async () => {
      await withSandbox(async (sandbox) => {
        const ours = new RangeError('a bug of ours')
        const onOutput = () => {
          throw ours
        }
        await expect(sandbox.run('echo x; sleep 60', runOptions({ onOutput }))).rejects.toBe(ours)
        expect((await sandbox.run('true', runOptions())).exitCode).toBe(0)
      })
    })

    test('a kill while a command runs ends both', async () => {
      const sandbox = await sandboxes().open(request(), never)
      const started = Promise.withResolvers<void>()
      const running = refusal(sandbox.run('echo started; sleep 60', runOptions({ onOutput: () => started.resolve() })))
      await started.promise
      await sandbox.kill()
      expect((await running).code).toBe('cancelled')
      expect((await refusal(sandbox.run('true', runOptions()))).code).toBe('cancelled')
    })

    test('the end of its lifetime in the middle of a command is a timeout', async () => {
      const sandbox = await sandboxes().open(request({ lifetimeMs: 2_000 }), never)
      const error = await refusal(sandbox.run('sleep 60', runOptions()))
      expect(error.code).toBe('timeout')
      expect(error.message).toContain('lifetime')
      await sandbox.kill()
    })

    test('who stops before or while a machine is made leaves none', async () => {
      const before = request()
      expect((await refusal(sandboxes().open(before, AbortSignal.abort()))).code).toBe('cancelled')
      const during = request()
      const stop = new AbortController()
      const opening = refusal(sandboxes().open(during, stop.signal))
      stop.abort()
      expect((await opening).code).toBe('cancelled')
      expect(await sandboxes().find(before.metadata, never)).toEqual([])
      expect(await sandboxes().find(during.metadata, never)).toEqual([])
      expect((await refusal(sandboxes().find({}, AbortSignal.abort()))).code).toBe('cancelled')
      expect((await refusal(sandboxes().kill('nothing', AbortSignal.abort()))).code).toBe('cancelled')
    })
  })
}
