// The second walk, from a comment: `/ask …` becomes an answer in the same conversation. What people see of it is the house's conversation,
// the same as the webhook's; here is who may ask, which run answers, and what the job's step says.
import {
  type AskTarget,
  answerMarkdown,
  converse,
  type GitHub,
  isHandoffError,
  mayAsk,
  type PullFacts,
  safeText,
  splitComment,
  staleNote,
  systemClock,
} from '../handoff/index.js'
import { openAnswers, type Place, type Reply } from './answering.js'
import { runPage } from './context.js'
import type { AskedInComment } from './events.js'
import { openGitHub } from './github.js'
import { type Job, placeOf } from './job.js'
import { tellAnswer } from './tell-answer.js'

export async function answerComment(job: Job, asked: AskedInComment): Promise<void> {
  const { runner, context, stop } = job
  const { event } = asked
  const github = openGitHub(job)
  runner.info(
    `Question ${event.target.question} by ${event.asker.login} on pull request ${event.target.thread.number}.`,
  )
  const may = await mayAsk(
    { github, repository: context.repository, user: event.asker, allow: job.options.allow },
    { signal: stop },
  )
  if (!may.allowed) return refuse(job, github, event.target, may)
  runner.quote('The question', asked.question)
  const ending = await talk(job, asked, github)
  job.saver.talk(null)
  if (ending.end === 'question-gone') return runner.info('The question was taken back; there is nothing to answer.')
  if (ending.end === 'answered-before') return runner.info('The question has its answer already.')
  if (ending.answer) await tellAnswer(job, ending.answer)
  if (ending.end !== 'answered') throw ending.error
}

/** A bot hears nothing: two of them would talk for ever. A person sees at once that nobody is working on it. */
async function refuse(
  job: Job,
  github: GitHub,
  target: AskTarget,
  may: Extract<Awaited<ReturnType<typeof mayAsk>>, { allowed: false }>,
): Promise<void> {
  job.runner.notice(`The question is not answered. ${may.text}`)
  if (may.reason === 'bot') return
  const key = { kind: target.thread.kind, repository: target.thread.repository, id: target.question }
  await github.addReaction(key, 'confused', { signal: job.stop, patient: false }).catch((error: unknown) => {
    job.runner.info(`Could not react to the question: ${isHandoffError(error) ? error.message : 'an unexpected error'}`)
  })
}

async function talk(job: Job, asked: AskedInComment, github: GitHub) {
  const { runner, saver, context, stop } = job
  const { target } = asked.event
  saver.talk({ target, question: asked.question })
  let pull: PullFacts | undefined
  return converse<Reply>({
    github,
    target,
    question: asked.question,
    harmless: (text) => safeText(job.redact(text)),
    link: runPage(context),
    clock: systemClock,
    onNotice: (text) => runner.info(text),
    signal: stop,
    onComment: (comment) => saver.answerComment(comment.id),
    async answer(onProgress) {
      // Resolved once, when the question is accepted: what is pushed later is named, not read.
      pull ??= await github.pull(context.repository, target.thread.number, { signal: stop })
      const answers = openAnswers(job)
      return answers.ask(
        {
          text: asked.question,
          thread: threadName(target),
          fresh: asked.fresh,
          asker: `github:${asked.event.asker.login}`,
          places: placesOf(pull),
        },
        onProgress,
      )
    },
    render: (reply) => render(job, reply, github),
  })

  async function render(of: Job, reply: Reply, with_: GitHub): Promise<string[]> {
    const stale = await staleWords(of, reply, with_, target.thread.number)
    const markdown = answerMarkdown(reply.record, placeOf(of), {
      form: 'comment',
      reused: reply.reused,
      notes: reply.notes,
      ...(stale === undefined ? {} : { stale }),
    })
    return splitComment(of.redact(markdown))
  }
}

/** Questions of one thread know of each other. */
function threadName({ thread }: AskTarget): string {
  return thread.kind === 'review' ? `pull/${thread.number}/review/${thread.root}` : `pull/${thread.number}`
}

function placesOf({ head, base }: PullFacts): Place[] {
  const note = `The head commit ${head.sha.slice(0, 7)} has no summary yet, so this is answered from the newest one of ${base.ref}.`
  return [{ name: { commit: head.sha } }, { name: { ref: `refs/heads/${base.ref}` }, note }]
}

/** The head as it is now, when the answer is ready. A failure to look costs the remark, not the answer. */
async function staleWords(job: Job, reply: Reply, github: GitHub, number: number): Promise<string | undefined> {
  const { context } = job
  const call = { signal: AbortSignal.any([job.stop, AbortSignal.timeout(15_000)]), patient: false }
  try {
    const { head } = await github.pull(context.repository, number, call)
    const { commit, citations } = reply.record
    const cited = citations.filter((citation) => citation.verified)
    const note = await staleNote(
      github,
      { repository: context.repository, answered: commit, head: head.sha, citations: cited },
      call,
    )
    const words = note?.replace(/^answered at `\w+`; /, '').replaceAll('`', '')
    return words === undefined ? undefined : `${words.charAt(0).toUpperCase()}${words.slice(1)}.`
  } catch (error) {
    job.runner.info(
      `Whether the head has moved could not be seen: ${isHandoffError(error) ? error.message : 'an unexpected error'}`,
    )
    return undefined
  }
}
