// `mode: ask` with a question, in any workflow: the answer becomes outputs and the job summary, and no comment is written.
import {
  HandoffError,
  isHandoffError,
  parseRunId,
  quote,
  type RunName,
  type RunPlace,
  systemClock,
} from '../handoff/index.js'
import { openAnswerSource } from './answer-source.js'
import type { Inquiry, Reply } from './inquiry.js'
import type { Job } from './job-context.js'
import { tellAnswer } from './publish-answer.js'
import type { CommitRequest } from './route-event.js'

export async function answerQuestion(job: Job, wanted: CommitRequest): Promise<void> {
  const { runner, options, context } = job
  runner.printUntrusted('The question', options.question)
  const inquiry: Inquiry = {
    text: options.question,
    fresh: options.fresh,
    depth: options.depth,
    asker: `github:${context.actor}`,
    places: options.run === '' ? listSources(wanted) : [{ name: parseRunName(options.run) }],
  }
  await tellAnswer(job, await waitForAnswer(job, inquiry))
}

/** While another job answers the same question, waits for that answer. */
async function waitForAnswer(job: Job, inquiry: Inquiry): Promise<Reply> {
  const answers = openAnswerSource(job)
  for (;;) {
    try {
      return await answers.ask(inquiry, () => {})
    } catch (error) {
      if (!isHandoffError(error, 'in-progress') || job.signal.aborted) throw error
      job.runner.info(error.message)
      await systemClock.sleep((error.retryAfterSeconds ?? 3) * 1_000, job.signal)
    }
  }
}

function listSources({ sha, ref, baseRef }: CommitRequest): RunPlace[] {
  const branch = baseRef ?? ref
  const note = `The commit ${sha.slice(0, 7)} has no summary yet, so this is answered from the newest one of ${branch}.`
  const onBranch = branch?.startsWith('refs/heads/') ? [{ name: { ref: branch }, note }] : []
  return [{ name: { commit: sha } }, ...onBranch]
}

function parseRunName(text: string): RunName {
  if (/^[0-9a-f]{40}$/.test(text)) return { commit: text }
  if (text.startsWith('refs/')) return { ref: text }
  if (/^[0-9a-f]{40}-/.test(text)) return { run: parseRunId(text) }
  throw new HandoffError('invalid-input', `The input run, ${quote(text)}, is neither a run, nor a commit, nor a ref.`, {
    next: 'Give the output run of a summary, a full commit id, or a ref like refs/heads/main.',
  })
}
