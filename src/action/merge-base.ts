// The commit that a pull request is compared with. Its branch may have moved on since the pull request began, so GitHub is asked for the merge base.
import { isHandoffError } from '../handoff/index.js'
import { openGitHub } from './github-client.js'
import type { Job } from './job-context.js'
import type { CommitRequest } from './route-event.js'

/** Undefined without a pull request, and when GitHub does not say; then a notice in the log tells why. */
export async function mergeBase(job: Job, { sha, pull, baseSha }: CommitRequest): Promise<string | undefined> {
  if (pull === undefined || baseSha === undefined) return undefined
  const { runner, context, signal } = job
  const untold = (why: string) =>
    runner.remark(`What pull request ${pull} changes is not described: ${why} The token needs contents: read.`)
  if (job.options.githubToken === '') return void untold('there is no github-token.')
  try {
    const compared = await openGitHub(job).compare(context.repository, baseSha, sha, { signal, patient: false })
    if (compared) return compared.mergeBase
    untold(`GitHub does not have ${baseSha.slice(0, 7)} or ${sha.slice(0, 7)}.`)
  } catch (error) {
    if (signal.aborted || !isHandoffError(error)) throw error
    untold(error.message)
  }
  return undefined
}
