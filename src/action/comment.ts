// `mode: comment`: the sealed summary of a pull request's head is kept in one comment, and earlier answers whose lines the head has changed are
// marked. This job may write to GitHub, so it starts no sandbox, clones nothing and asks no model: it reads the run that another job sealed.
import {
  changeComment,
  correctedComment,
  correctionsOf,
  fitMarkdown,
  markStaleComments,
  type ReadContext,
  readChange,
  readDiagram,
  resolveRun,
  summaryMarker,
} from '../handoff/index.js'
import { describeError, formatFailure } from './error-message.js'
import { workflowRunUrl } from './event-context.js'
import { openGitHub } from './github-client.js'
import { type Job, jobRepository, linkPlace, openReadContext } from './job-context.js'
import { mergeBase } from './merge-base.js'
import type { CommitRequest } from './route-event.js'

export async function commentOnPull(job: Job, wanted: CommitRequest & { pull: number }): Promise<void> {
  const { sha, pull } = wanted
  const { runner, context, signal } = job
  const reading = openReadContext(job)
  const repository = jobRepository(job)
  const run = await resolveRun({ repository }, { commit: sha }, reading, signal)
  runner.setOutput('run', run.handoff.run)
  runner.setOutput('commit', sha)
  const body = job.redact(await renderComment(job, wanted, reading, run))
  const github = openGitHub(job)
  const thread = { kind: 'issue', repository: context.repository, number: pull } as const
  // Read as late as possible, so that a slow job does not replace the summary of a newer commit.
  const { head } = await github.pull(context.repository, pull, { signal })
  if (head.sha !== sha) {
    const newer = `The head of pull request ${pull} is ${head.sha.slice(0, 7)} by now; the job for that commit writes the comment.`
    return runner.info(newer)
  }
  const { comment } = await github.ensureComment(thread, { marker: summaryMarker, body }, { signal })
  if (comment.body !== body) await github.updateComment(comment, body, { signal })
  runner.info(`The summary stands in ${comment.url}.`)
  await markAnswers(job, pull, reading)
}

/** GitHub rejects comments over 65,536 characters. A text has at least as many bytes as characters. */
const commentBytes = 60_000

async function renderComment(
  job: Job,
  wanted: CommitRequest,
  reading: ReadContext,
  run: Awaited<ReturnType<typeof resolveRun>>,
): Promise<string> {
  const { handoff } = run
  const { signal, context, options } = job
  const base = await mergeBase(job, wanted)
  const [report, diagram, corrections] = await Promise.all([
    base === undefined ? undefined : readChange(reading, run, base, signal),
    readDiagram(reading, run, signal),
    correctionsOf(reading, run, signal),
  ])
  const text = changeComment({
    head: wanted.sha,
    report,
    ...(report ? {} : { why: base === undefined ? noBase : notDescribed }),
    diagram,
    place: linkPlace(job),
    parts: options.commentParts,
    summaryUrl: handoff.requestedBy?.workflowRun ?? workflowRunUrl(context),
    cost: handoff.cost,
    model: handoff.model.name,
    partial: handoff.partial,
  })
  const ofSummary = corrections.filter(({ answer }) => answer === undefined)
  const body = correctedComment(`${summaryMarker}\n${text}`, ofSummary, linkPlace(job))
  return fitMarkdown(body, commentBytes)
}

const noBase = 'The change is not described, because GitHub did not name the merge base; the log of this job tells why.'
const notDescribed =
  'The change is not described, because the run of this commit is older than the pull request, or its base has changed since. Run the summary with force: true for a description.'

/** Marks earlier answers whose cited lines this push has changed. */
async function markAnswers(job: Job, pull: number, reading: ReadContext): Promise<void> {
  const { runner, signal } = job
  try {
    const onNotice = (text: string) => runner.remark(text)
    const request = { context: reading, repository: jobRepository(job), pull, onNotice }
    const { marked, cleared } = await markStaleComments(openGitHub(job), request, signal)
    for (const { url } of marked) runner.info(`The lines that this answer rests on have changed: ${url}.`)
    for (const { url } of cleared) runner.info(`The lines that this answer rests on are back: ${url}.`)
  } catch (error) {
    if (signal.aborted) throw error
    runner.warning(
      `Earlier answers on pull request ${pull} could not be looked at. ${formatFailure(describeError(error))}`,
    )
  }
}
