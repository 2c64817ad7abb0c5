// The post step of the Action: cleans up what the main step could not. It has no model client and no workflow. It may run twice, never fails the
// job, and usually has nothing to do and loads nothing.
import { describeError, formatFailure } from './error-message.js'
import { makeRunner } from './runner.js'
import { readSavedState, type SavedState } from './saved-state.js'
import { start } from './start.js'

const cleanupTimeoutMs = 60_000
const environment = process.env
const runner = makeRunner()

async function runPostStep(): Promise<void> {
  const left = readSavedState(runner)
  const interrupted = !left.finished
  const todo = {
    sandboxes: left.sandbox !== '' || (interrupted && left.owner !== ''),
    token: interrupted && left.token !== '',
    talk: interrupted && left.talk !== null,
  }
  if (todo.sandboxes || todo.token || todo.talk) await cleanUp(left, todo)
}

async function cleanUp(left: SavedState, todo: { sandboxes: boolean; token: boolean; talk: boolean }): Promise<void> {
  const { endSandboxes, stopConversation: endTalk, revokeToken } = await import('./finish.js')
  const signal = AbortSignal.timeout(cleanupTimeoutMs)
  const results = await Promise.allSettled([
    todo.sandboxes ? endSandboxes(runner, left, signal) : undefined,
    todo.token ? revokeToken(runner, left.token, signal) : undefined,
    todo.talk ? endTalk(runner, environment, left, signal) : undefined,
  ])
  for (const result of results) {
    if (result.status === 'rejected') {
      runner.warning(
        `${formatFailure(describeError(result.reason))} A sandbox or a token that is left ends by itself with its lifetime.`,
      )
    }
  }
}

async function report(error: unknown): Promise<void> {
  runner.warning(`The step after the job could not finish its work. ${formatFailure(describeError(error))}`)
}

await start(runner, environment, { work: runPostStep, report, failureCode: 0, refuse: runner.warning })
// The post step never changes the job's result.
process.exitCode = 0
