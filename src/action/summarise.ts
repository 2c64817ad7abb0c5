// Summarises the commit of the event, and reports the sealed run: outputs, job summary, comment.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { encodeHandoff, markStale, type Summarised, type SummariseRequest, summarise } from '../handoff/index.js'
import { runPage } from './context.js'
import type { CommitWanted } from './events.js'
import { failureOf, sentenceOf } from './failure.js'
import { openGitHub } from './github.js'
import { commitOf, type Job, type OpenHouse, openHouse, repositoryOf } from './job.js'
import { handoffReport, otherSettings, stickyComment, stickyMarker } from './report.js'

export async function summariseCommit(job: Job, wanted: CommitWanted): Promise<void> {
  const { runner, options } = job
  runner.info(
    `Summarising ${job.context.repository} at ${wanted.sha}${wanted.pull ? `, the head of pull request ${wanted.pull}` : ''}.`,
  )
  const open = openHouse(job)
  const result = await summarise(requestOf(job, wanted, open), open.house, open.signal)
  await tellJob(job, result)
  if (!options.comment || wanted.pull === undefined) return
  await keepComment(job, wanted.pull, result, open.signal)
  await markAnswers(job, wanted.pull, open)
}

function requestOf(job: Job, wanted: CommitWanted, open: OpenHouse): SummariseRequest {
  const { context, options } = job
  return {
    commit: commitOf(job, wanted.sha, wanted.ref),
    // Jobs of one workflow run share its number and its try.
    attempt: `${context.runId}-${context.runAttempt}-${open.house.tools.uniqueId().slice(-8)}`,
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
  if (result.otherwise.length > 0) runner.notice(redact(otherSettings(result)))
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
