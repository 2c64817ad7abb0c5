// Answers `/ask …` where it was written, in the same conversation as the webhook. Checks who may ask and reports the result in the job.
import {
  type AskTarget,
  answerInComment,
  checkPermission,
  type GitHub,
  isHandoffError,
  questionKey,
  systemClock,
} from '../handoff/index.js'
import { openAnswerSource } from './answer-source.js'
import { workflowRunUrl } from './event-context.js'
import { openGitHub } from './github-client.js'
import { type Job, linkPlace } from './job-context.js'
import { tellAnswer } from './publish-answer.js'
import type { CommentQuestion } from './route-event.js'
import type { AnswerSource, Reply } from './runs-for-question.js'

export async function answerComment(job: Job, asked: CommentQuestion): Promise<void> {
  const { runner, context, stop } = job
  const { event } = asked
  const github = openGitHub(job)
  runner.info(`Question ${event.target.question} by ${event.asker.login} on ${questionPlace(event.target)}.`)
  const may = await checkPermission(
    { github, repository: context.repository, user: event.asker, allow: job.options.allow },
    { signal: stop },
  )
  if (!may.allowed) return refuseComment(job, github, event.target, may)
  runner.printUntrusted('The question', asked.question)
  const ending = await openConversation(job, asked, github)
  job.saver.talk(null)
  if (ending.end === 'question-gone') return runner.info('The question was taken back; there is nothing to answer.')
  if (ending.end === 'answered-before') return runner.info('The question has its answer already.')
  if (ending.answer) await tellAnswer(job, ending.answer)
  if (ending.end !== 'answered') throw ending.error
}

function questionPlace({ thread, branch }: AskTarget): string {
  if (branch === undefined) return `pull request ${thread.number}`
  return `${thread.kind} ${thread.number}`
}

/** A bot gets no answer, because two bots could answer each other for ever. A person gets a reaction that shows the refusal. */
export async function refuseComment(
  job: Job,
  github: GitHub,
  target: AskTarget,
  may: Extract<Awaited<ReturnType<typeof checkPermission>>, { allowed: false }>,
): Promise<void> {
  job.runner.notice(`The command is not carried out. ${may.text}`)
  if (may.reason === 'bot') return
  await github
    .addReaction(questionKey(target), 'confused', { signal: job.stop, patient: false })
    .catch((error: unknown) => {
      job.runner.info(
        `Could not react to the comment: ${isHandoffError(error) ? error.message : 'an unexpected error'}`,
      )
    })
}

async function openConversation(job: Job, { event, question, fresh, depth }: CommentQuestion, github: GitHub) {
  const { runner, saver } = job
  const { target } = event
  // Opened once, so that a retry gets no new deadline and does not wait for a run again.
  let answers: AnswerSource | undefined
  saver.talk({ target, question })
  return answerInComment<Reply>({
    github,
    target,
    question,
    asker: event.asker.login,
    redact: job.redact,
    place: linkPlace(job),
    link: workflowRunUrl(job.context),
    clock: systemClock,
    onNotice: (text) => runner.remark(text),
    signal: job.stop,
    // A comment of a discussion is found by its marker.
    onComment: ({ id, node }) => node === undefined && saver.answerComment(id),
    answer(wanted, onProgress) {
      answers ??= openAnswerSource(job)
      return answers.ask({ ...wanted, text: question, fresh, depth, asker: `github:${event.asker.login}` }, onProgress)
    },
  })
}
