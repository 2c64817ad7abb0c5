// Cleans up after a main step that was killed: its sandbox, its drive9 token, and its progress comment.
import {
  endConversation,
  HandoffError,
  makeDrive,
  makeRedactor,
  makeSandboxes,
  parseDriveSettings,
  safeText,
  systemClock,
} from '../handoff/index.js'
import { readContext, workflowRunUrl } from './event-context.js'
import { openGitHub } from './github-client.js'
import { readSettings, secretValues } from './inputs.js'
import type { Environment, Runner } from './runner.js'
import type { SavedState } from './saved-state.js'

/** Finds sandboxes by id, and by the label of the step, because the reply to a create call may have been lost. */
export async function endSandboxes(runner: Runner, left: SavedState, signal: AbortSignal): Promise<void> {
  const sandboxes = makeSandboxes({
    apiKey: runner.input('e2b-api-key'),
    ...optional('domain', runner.input('e2b-domain')),
    ...optional('apiUrl', runner.input('e2b-api-url')),
    ...optional('sandboxUrl', runner.input('e2b-sandbox-url')),
    onNotice: (text) => runner.info(text),
  })
  const end = async (id: string) => {
    const killed = await sandboxes.kill(id, signal)
    runner.info(killed ? `Sandbox ${id} was still there; it is destroyed.` : `Sandbox ${id} is gone.`)
  }
  const endOthers = async () => {
    const found = left.owner === '' ? [] : await sandboxes.find({ handoff: '1', owner: left.owner }, signal)
    await settleAll(found.filter(({ id }) => id !== left.sandbox).map(({ id }) => end(id)))
  }
  await settleAll([left.sandbox === '' ? undefined : end(left.sandbox), endOthers()])
}

/** Waits for all, then throws the first failure. */
async function settleAll(work: (Promise<void> | undefined)[]): Promise<void> {
  const failed = (await Promise.allSettled(work)).find((one) => one.status === 'rejected')
  if (failed) throw failed.reason
}

const optional = <K extends string>(name: K, value: string) =>
  (value === '' ? {} : { [name]: value }) as { [P in K]?: string }

/** The token expires with the sandbox. Until then it opens one run directory. */
export async function revokeToken(runner: Runner, id: string, signal: AbortSignal): Promise<void> {
  const { server, apiKey } = parseDriveSettings(readSettings(runner))
  await makeDrive({ server, key: apiKey }).revokeToken(id, signal)
  runner.info('The token of the run directory is revoked.')
}

/** The comment says that the work was stopped. */
export async function stopConversation(
  runner: Runner,
  environment: Environment,
  left: SavedState,
  signal: AbortSignal,
): Promise<void> {
  if (!left.talk) return
  const context = await readContext(environment)
  const redact = makeRedactor(secretValues(runner))
  const github = openGitHub({ runner, context, redact, options: { githubToken: runner.input('github-token') } })
  const { target, question } = left.talk
  const state = await endConversation({
    github,
    target,
    question,
    harmless: (text) => safeText(redact(text)),
    link: workflowRunUrl(context),
    clock: systemClock,
    onNotice: (text) => runner.info(text),
    error: new HandoffError('cancelled', 'The job ended before there was an answer.'),
    comment: left.answerComment,
    signal,
  })
  runner.info(`The comment of the answer says: ${state}.`)
}
