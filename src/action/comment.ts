// `mode: comment`: the sealed summary of a pull request's head is kept in one comment, and earlier answers whose lines the head has changed are
// marked. This job may write to GitHub, so it starts no sandbox, clones nothing and asks no model: it reads the run that another job sealed.
import { layout, markStaleComments, type ReadContext, resolveRun, runSummary, summaryMarker } from '../handoff/index.js'
import { describeError, formatFailure } from './error-message.js'
import { openGitHub } from './github-client.js'
import { type Job, jobRepository, openReadContext } from './job-context.js'
import { stickyComment } from './job-summary.js'
import type { CommitRequest } from './route-event.js'

export async function commentOnPull(job: Job, { sha, pull }: CommitRequest & { pull: number }): Promise<void> {
  const { runner, context, signal } = job
  const reading = openReadContext(job)
  const repository = jobRepository(job)
  const run = await resolveRun({ repository }, { commit: sha }, reading, layout(reading.root, repository), signal)
  runner.setOutput('run', run.handoff.run)
  runner.setOutput('commit', sha)
  const body = job.redact(stickyComment(run.handoff, await runSummary(reading, run, signal), context))
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
