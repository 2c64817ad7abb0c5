// One machine: commands run in it, and its end.
//
// The SDK does not kill a command that is aborted, it only stops to listen; so the command is killed by a call of its own. An abort, a kill of
// the machine and the command's own time are three reasons to stop waiting, and each leaves as the error it is.
import type { CommandHandle, Sandbox as SdkSandbox } from 'e2b'
import { abortError, HandoffError } from '../../domain/errors.js'
import type { RunOptions, Sandbox, SandboxRequest } from '../../domain/ports.js'
import type { Created } from './create-sandbox.js'
import { exitCodeOf, explainFailure } from './errors.js'
import { networkOf } from './network-options.js'
import { asOurs, killSandbox, lower, replied, type Service } from './sdk-calls.js'

const tailCharacters = 4_000
const killProcessMs = 1_500
const killMachineMs = 60_000
/** Clocks differ, and the service counts whole seconds. */
const lifetimeSlackMs = 2_000

/** The sandboxes that this process has opened and not ended. */
const openMachines = new Map<string, (reason: HandoffError) => void>()

/** E2B reports the end of a sandbox: its commands fail at once, also where their connection says nothing. */
export function endOpenMachine(id: string, reason: string): boolean {
  const end = openMachines.get(id)
  end?.(new HandoffError('sandbox', `E2B ended sandbox ${id} while it was in use (${reason}).`, { next: 'Ask again.' }))
  return end !== undefined
}

export function makeMachine(
  service: Service,
  { sandbox, template, options, letDie }: Created,
  { lifetimeMs }: Pick<SandboxRequest, 'lifetimeMs'>,
): Sandbox {
  const endsAt = Date.now() + lifetimeMs - lifetimeSlackMs
  const gone = new AbortController()
  let killing: Promise<void> | undefined
  openMachines.set(sandbox.sandboxId, (reason) => {
    openMachines.delete(sandbox.sandboxId)
    gone.abort(reason)
  })

  async function kill(): Promise<void> {
    openMachines.delete(sandbox.sandboxId)
    letDie()
    // Running commands fail at once; they do not wait for the kill.
    gone.abort(new HandoffError('cancelled', `Sandbox ${sandbox.sandboxId} was killed by us.`))
    await killSandbox(service, sandbox.sandboxId, AbortSignal.timeout(killMachineMs))
  }

  return {
    id: sandbox.sandboxId,
    template,
    egressLimited: options.egress,
    headersInjected: options.headers,
    async restrictNetwork(egress, signal) {
      if (!options.egress && !options.headers) return
      const network = networkOf({ egress }, { ...options, headers: false })
      const doing = `Restricting the network of sandbox ${sandbox.sandboxId}`
      await asOurs(signal, doing, () =>
        replied(service, signal, (connection) => sandbox.updateNetwork(network, connection)),
      )
    },
    run: (command, run) => runCommand(sandbox, command, run, gone.signal, () => Date.now() >= endsAt),
    kill() {
      killing ??= kill().catch((error: unknown) => {
        killing = undefined
        throw error
      })
      return killing
    },
  }
}

async function runCommand(
  sandbox: SdkSandbox,
  command: string,
  options: RunOptions,
  gone: AbortSignal,
  lifetimeOver: () => boolean,
): Promise<{ exitCode: number; stderrTail: string }> {
  const doing = `Running a command in sandbox ${sandbox.sandboxId}`
  const stop = AbortSignal.any([options.signal, gone])
  if (stop.aborted) throw abortError(stop, lower(doing))
  const listener = makeListener(options.onOutput)
  let handle: CommandHandle | undefined
  try {
    handle = await sandbox.commands.run(command, {
      background: true,
      user: 'root',
      envs: options.environment,
      timeoutMs: Math.max(1, Math.ceil(options.timeoutMs)),
      signal: stop,
      onStdout: listener.stdout,
      onStderr: listener.stderr,
    })
    const { exitCode } = await handle.wait()
    return { exitCode, stderrTail: listener.tail() }
  } catch (error) {
    const exitCode = exitCodeOf(error)
    if (exitCode !== undefined) return { exitCode, stderrTail: listener.tail() }
    if (!gone.aborted && handle) await endProcess(sandbox, handle.pid)
    throw whyStopped(error, listener.thrown(), stop, doing, lifetimeOver())
  }
}

/** As well as it can be done: the machine will be killed anyway. */
async function endProcess(sandbox: SdkSandbox, id: number): Promise<void> {
  await sandbox.commands.kill(id, { requestTimeoutMs: killProcessMs }).catch(() => undefined)
}

function whyStopped(
  error: unknown,
  thrown: { error: unknown } | undefined,
  stop: AbortSignal,
  doing: string,
  lifetimeOver: boolean,
) {
  // What the listener threw is not the sandbox's doing and goes on as it is.
  if (thrown) return thrown.error
  if (stop.aborted) return abortError(stop, lower(doing))
  return explainFailure(error, doing, lifetimeOver)
}

function makeListener(onOutput: (text: string) => void) {
  let tail = ''
  let thrown: { error: unknown } | undefined
  return {
    stdout(text: string) {
      try {
        onOutput(text)
      } catch (error) {
        thrown = { error }
        throw error
      }
    },
    stderr(text: string) {
      tail = (tail + text).slice(-tailCharacters)
    },
    tail: () => tail,
    thrown: () => thrown,
  }
}
