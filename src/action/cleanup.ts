// The step after the job: finishes what the main step could not. It may run twice, it never fails the job, and in the usual case it has nothing
// to do and loads nothing.
import { failureOf, sentenceOf } from './failure.js'
import type { Environment, Runner } from './runner.js'
import { type Left, readLeft } from './state.js'

const patienceMs = 60_000

export async function cleanUp(runner: Runner, environment: Environment): Promise<void> {
  const left = readLeft(runner)
  const mayLive = left.sandbox !== '' || (!left.finished && left.owner !== '')
  const talks = left.talk !== null && !left.finished
  if (!mayLive && !talks) return
  try {
    await finishWork(runner, environment, left, { mayLive, talks })
  } catch (error) {
    runner.warning(`The step after the job could not finish its work. ${sentenceOf(failureOf(error))}`)
  } finally {
    // Whatever happened here, the job's own result stands.
    process.exitCode = 0
  }
}

async function finishWork(
  runner: Runner,
  environment: Environment,
  left: Left,
  todo: { mayLive: boolean; talks: boolean },
): Promise<void> {
  const { endSandboxes, endTalk } = await import('./finish.js')
  const signal = AbortSignal.timeout(patienceMs)
  const results = await Promise.allSettled([
    todo.mayLive ? endSandboxes(runner, left, signal) : undefined,
    todo.talks ? endTalk(runner, environment, left, signal) : undefined,
  ])
  for (const result of results) {
    if (result.status === 'rejected') {
      runner.warning(`${sentenceOf(failureOf(result.reason))} A sandbox that is left ends by itself with its lifetime.`)
    }
  }
}
