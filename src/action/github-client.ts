// The GitHub client of a job. It redacts secrets from every comment it writes.
import { type GitHub, HandoffError, makeGitHub } from '../handoff/index.js'
import type { Job } from './job-context.js'

export function openGitHub(
  job: Pick<Job, 'runner' | 'context' | 'redact'> & { options: { githubToken: string } },
): GitHub {
  const { context, options, runner, redact } = job
  if (options.githubToken === '') {
    throw new HandoffError('missing-setting', 'This input is missing: github-token.', {
      next: 'Leave it out of the workflow to use the token of the job, or give one that may write comments.',
    })
  }
  const github = makeGitHub({
    apiUrl: context.apiUrl,
    serverUrl: context.serverUrl,
    credentials: { token: options.githubToken },
    userAgent: 'handoff-action',
    onNotice: (text) => runner.remark(text),
  })
  return {
    ...github,
    ensureComment: (thread, wanted, call) =>
      github.ensureComment(thread, { ...wanted, body: redact(wanted.body) }, call),
    createComment: (thread, body, call) => github.createComment(thread, redact(body), call),
    updateComment: (key, body, call) => github.updateComment(key, redact(body), call),
  }
}
