// The job that each kind of work receives, and the contexts created for it.
import { readFile } from 'node:fs/promises'
import {
  type AnswerPlace,
  type AppContext,
  type Commit,
  type CorrectContext,
  createContext,
  createCorrectContext,
  createReadContext,
  HandoffError,
  missingSettings,
  parseDriveSettings,
  parseRepository,
  parseSettings,
  type ReadContext,
  type Repository,
  wantsJournal,
} from '../handoff/index.js'
import type { Context } from './event-context.js'
import { type Options, readSettings, secretValues, settingInputs } from './inputs.js'
import { makeListener } from './log-events.js'
import type { Environment, Runner } from './runner.js'
import type { StateWriter } from './saved-state.js'

export interface Job {
  runner: Runner
  context: Context
  options: Options
  saver: StateWriter
  /** Aborted when the job is cancelled. */
  stop: AbortSignal
  /** Aborted when the job is cancelled, and at its deadline, which includes waits and retries. */
  signal: AbortSignal
  /** Redacts every secret in a text that people will see. */
  redact: (text: string) => string
  environment: Environment
  /** The label of every sandbox of this step. */
  owner: string
}

export interface JobContext {
  appContext: AppContext
  cloneToken?: string | undefined
}

/** Does no I/O. One error lists all missing inputs. */
export function createJobContext(
  job: Job,
  listen: (event: Parameters<AppContext['ports']['emit']>[0]) => void = () => {},
): JobContext {
  const record = readSettings(job.runner)
  const missing = missingSettings(record)
  if (missing.length > 0) throw missingInputs(job.context, missing)
  const settings = parseSettings(record)
  const cloneToken = tokenForClone(job.context, settings.cloneToken)
  const { cloneToken: _given, ...rest } = settings
  const log = makeListener(job.runner, job.saver)
  const appContext = createContext(rest, {
    program: (name) => readFile(new URL(`sandbox-${name}.js`, import.meta.url), 'utf8'),
    emit(event) {
      log(event)
      listen(event)
    },
    secrets: secretValues(job.runner),
    cloneToken,
  })
  // Saved before a sandbox is created: a sandbox whose create reply is lost has this label too.
  job.saver.owner(job.owner)
  return { appContext, cloneToken }
}

/** Needs only the drive9 key. */
export const openReadContext = (job: Job): ReadContext => createReadContext(driveSettings(job))

export function openCorrectContext(job: Job): CorrectContext {
  const journal = wantsJournal(readSettings(job.runner))
  return createCorrectContext(driveSettings(job), { journal, emit: makeListener(job.runner, job.saver) })
}

function driveSettings({ runner, context }: Job) {
  const drive = parseDriveSettings(readSettings(runner))
  if (drive.apiKey === '') throw missingInputs(context, ['DRIVE9_API_KEY'])
  return drive
}

function missingInputs(context: Context, settings: string[]): HandoffError {
  const names = Object.entries(settingInputs)
    .filter(([, setting]) => settings.includes(setting))
    .map(([input]) => input)
  const one = names.length === 1
  const next =
    context.actor === 'dependabot[bot]'
      ? "Runs of Dependabot get Dependabot secrets only: add them there too, or skip these runs with if: github.actor != 'dependabot[bot]'."
      : `Add ${one ? 'it' : 'them'} under with:, for example ${names[0]}: \${{ ${names[0]!.endsWith('key') ? 'secrets' : 'vars'}.${settings[0]} }}, and check that the secret has that name.`
  const list = names.join(', ')
  const message = one ? `This input is missing: ${list}.` : `These inputs are missing: ${list}.`
  return new HandoffError('missing-setting', message, { next })
}

/** A public repository is cloned without a token, so that no token can leak. An Enterprise Server may need one all the same. */
function tokenForClone(context: Context, token: string | undefined): string | undefined {
  const isPublic = context.serverUrl === 'https://github.com' && context.payload.repository?.private === false
  return isPublic ? undefined : token
}

export function jobRepository({ context }: Job): Repository {
  const repository = parseRepository(context.repository, new URL(context.serverUrl).host)
  return /^\d{1,20}$/.test(context.repositoryId) ? { ...repository, id: context.repositoryId } : repository
}

export function cloneUrl({ context }: Job): string {
  return `${context.serverUrl}/${context.repository}.git`
}

export function createCommit(job: Job, sha: string, ref?: string): Commit {
  const commit = { repository: jobRepository(job), sha, cloneUrl: cloneUrl(job) }
  return ref === undefined ? commit : { ...commit, ref }
}

/** The target of links in an answer. */
export function linkPlace({ context }: Pick<Job, 'context'>): AnswerPlace {
  const host = new URL(context.serverUrl).host
  return { host, repository: context.repository, serverUrl: context.serverUrl, permalinks: 'github' }
}
