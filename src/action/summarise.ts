// The first walk in a job: the commit of the event becomes a sealed run, and the job's outputs, its summary and a comment tell of it.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  encodeHandoff,
  isHandoffError,
  markStale,
  type Summarised,
  type SummariseRequest,
  summarise,
} from '../handoff/index.js'
import { runPage } from './context.js'
import type { CommitWanted } from './events.js'
import { failureOf, sentenceOf } from './failure.js'
import { openGitHub } from './github.js'
import { commitOf, type Job, type OpenHouse, openHouse, repositoryOf } from './job.js'
import { handoffReport, stickyComment, stickyMarker } from './report.js'

export async function summariseCommit(job: Job, wanted: CommitWanted): Promise<void> {
  const { runner, options } = job
  runner.info(
    `Summarising ${job.context.repository} at ${wanted.sha}${wanted.pull ? `, the head of pull request ${wanted.pull}` : ''}.`,
  )
  const open = openHouse(job)
  const result = await summariseOnce(job, wanted, open)
  await tellJob(job, result)
  if (!options.comment || wanted.pull === undefined) return
  await keepComment(job, wanted.pull, result, open.signal)
  await markAnswers(job, wanted.pull, open)
}

/** Jobs of one workflow run share its number and its try; the one that comes second to a directory takes a name of its own. */
async function summariseOnce(job: Job, wanted: CommitWanted, open: OpenHouse): Promise<Summarised> {
  const { runId, runAttempt } = job.context
  const attempt = `${runId}-${runAttempt}`
  try {
    return await summarise(requestOf(job, wanted, open, attempt), open.house, open.signal)
  } catch (error) {
    if (!isHandoffError(error, 'conflict') || !/was started before/.test(error.message)) throw error
    job.runner.info('Another job of this workflow run is summarising the same commit.')
    const other = `${attempt}-${open.house.tools.uniqueId().slice(-6)}`
    return summarise(requestOf(job, wanted, open, other), open.house, open.signal)
  }
}

function requestOf(job: Job, wanted: CommitWanted, open: OpenHouse, attempt: string): SummariseRequest {
  const { context, options } = job
  return {
    commit: commitOf(job, wanted.sha, wanted.ref),
    attempt,
    force: options.force,
    form: options.form,
    include: options.include,
    exclude: options.exclude,
    reuseFrom: wanted.reuseFrom,
    requestedBy: { workflowRun: runPage(context), actor: context.actor },
    labels: { owner: job.owner },
    ...(open.cloneToken === undefined ? {} : { cloneToken: open.cloneToken }),
  }
}

async function tellJob(job: Job, result: Summarised): Promise<void> {
  const { runner, context, redact } = job
  const { handoff } = result
  const folder = join(context.temporary, `handoff-${result.run}`)
  await mkdir(folder, { recursive: true })
  const [summaryFile, handoffFile] = [join(folder, 'code-summary.md'), join(folder, 'handoff.json')]
  const summary = redact(result.summary)
  await Promise.all([writeFile(summaryFile, summary), writeFile(handoffFile, encodeHandoff(handoff))])
  runner.setOutput('run', result.run)
  runner.setOutput('run-directory', result.directory)
  runner.setOutput('commit', handoff.commit)
  runner.setOutput('reused', String(result.reused))
  runner.setOutput('summary-file', summaryFile)
  runner.setOutput('handoff-file', handoffFile)
  runner.setOutput('model', handoff.model.name)
  runner.setOutput('tokens', String(handoff.usage.inputTokens + handoff.usage.outputTokens))
  runner.setOutput('cost', handoff.cost === undefined ? '' : handoff.cost.amount.toFixed(6))
  runner.setOutput('sandbox', handoff.sandbox.id)
  runner.quote(`Summary of ${handoff.commit}`, summary)
  for (const notice of handoff.notices) runner.info(redact(notice))
  await runner.summarise(redact(handoffReport(result, job.context)))
  runner.info(`${result.reused ? 'Reused' : 'Sealed'} run ${result.run}.`)
}

/** A comment that cannot be written costs nobody the run. */
async function keepComment(job: Job, pull: number, result: Summarised, signal: AbortSignal): Promise<void> {
  const { runner, context } = job
  try {
    const github = openGitHub(job)
    const thread = { kind: 'issue', repository: context.repository, number: pull } as const
    const body = job.redact(stickyComment(result, context))
    const { comment } = await github.ensureComment(thread, { marker: stickyMarker, body }, { signal })
    if (comment.body !== body) await github.updateComment(comment, body, { signal })
    runner.info(`The summary stands in ${comment.url}.`)
  } catch (error) {
    if (signal.aborted) throw error
    const told = failureOf(error)
    runner.warning(`The comment on pull request ${pull} could not be written. ${sentenceOf(told)}`)
  }
}

/** Answers given before this push say so themselves when the lines that they rest on have changed. */
async function markAnswers(job: Job, pull: number, { house, signal }: OpenHouse): Promise<void> {
  const { runner } = job
  try {
    const onNotice = (text: string) => runner.info(text)
    const { marked, cleared } = await markStale(
      openGitHub(job),
      { house, repository: repositoryOf(job), pull, onNotice },
      signal,
    )
    for (const { url } of marked) runner.info(`The lines that this answer rests on have changed: ${url}.`)
    for (const { url } of cleared) runner.info(`The lines that this answer rests on are back: ${url}.`)
  } catch (error) {
    if (signal.aborted) throw error
    runner.warning(`Earlier answers on pull request ${pull} could not be looked at. ${sentenceOf(failureOf(error))}`)
  }
}
