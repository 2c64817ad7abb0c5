// Comments under faults: however GitHub fails, a question has at most one visible answer, and a later attempt ends with one.
//
// Each schedule follows from its seed. SEED=17 replays one; LONG=1 runs five hundred.
import { expect, test } from 'vitest'
import { type LocalGitHub, startGitHub } from '../../src/emulators/github/server.js'
import { type GitHubOptions, makeGitHub } from '../../src/handoff/clients/github/client.js'
import { systemClock } from '../../src/handoff/clients/system-clock.js'
import { writeAskMarker } from '../../src/handoff/domain/answers/comment-marker.js'
import { answerMarkdown } from '../../src/handoff/domain/answers/render-answer.js'
import { isHandoffError } from '../../src/handoff/domain/errors.js'
import { type Conversation, runConversation } from '../../src/handoff/workflows/pull-request/comment-lifecycle.js'
import { markStaleComments } from '../../src/handoff/workflows/pull-request/mark-comments.js'
import { makeCallBreaker } from '../support/break-calls.js'
import { manualClock } from '../support/clock.js'
import { gitFolder } from '../support/git-folder.js'
import { randomFrom } from '../support/random.js'
import { runSchedules, type Schedule, schedulesFrom } from '../support/schedules.js'
import { makeCitation, storeAnswer } from '../support/stored-answers.js'
import { makeStoredRuns } from '../support/stored-runs.js'

const never = new AbortController().signal
const breaking = makeCallBreaker('git', [
  { kind: 'lose-reply' },
  { kind: 'reset' },
  { kind: 'cut', bytes: 9 },
  { kind: 'answer', status: 502, body: '{"message":"bad gateway"}' },
  { kind: 'answer', status: 500, body: '{"message":"oops"}' },
  { kind: 'answer', status: 403, headers: { 'retry-after': '1' }, body: '{"message":"secondary rate limit"}' },
])

test('if GitHub loses any reply, a question has one visible comment, and it ends with the answer', async () => {
  const failures = await runSchedules(schedulesFrom(40, 500), schedule)
  expect(failures).toEqual([])
}, 600_000)

async function schedule(seed: number): Promise<Schedule> {
  const random = randomFrom(seed)
  await using github = await startGitHub()
  const repository = github.addRepository({ name: 'octo/tools', app: true, collaborators: { wanda: 'write' } })
  const pull = github.addPull(repository, { head: { ref: 'x', sha: 'b'.repeat(40) } })
  const inReview = random.below(3) === 0
  const root = github.addReviewComment(repository, pull.number, 'wanda', 'hm').id
  const question = inReview
    ? github.addReviewComment(repository, pull.number, 'wanda', '/ask why?', root)
    : github.addComment(repository, pull.number, 'wanda', '/ask why?')
  const { id: appId, privateKey } = github.app
  const token = github.issueToken({ permissions: { pull_requests: 'write' } })
  const credentials = random.below(3) === 0 ? { appId, privateKey } : { token }
  const visible = () => github.visibleComments(repository, pull.number).filter((one) => one.author.type === 'Bot')
  const place = { repository: 'octo/tools', number: pull.number }
  const target = {
    thread: inReview ? { kind: 'review' as const, ...place, root } : { kind: 'issue' as const, ...place },
    question: question.id,
    askedAt: new Date(question.createdAt).toISOString(),
  }
  const talk = () => runConversation(conversation(github, credentials, target))

  const plan = breaking.breakSome(github.server, random, 12)
  breaking.breakNewKinds(github.server)
  const wrong: string[] = []
  const processes = 1 + random.below(2)
  const endings = await Promise.all(Array.from({ length: processes }, () => talk().catch((error: unknown) => error)))
  for (const ending of endings) if (ending instanceof Error && !isHandoffError(ending)) wrong.push(String(ending))
  github.server.clearRules()
  // Two who look at the same time may both find none, and then delete one; who is alone never makes a second.
  const made = github.comments.filter(({ author }) => author.type === 'Bot').length
  if (made > processes) wrong.push(`${made} comments were made`)
  const { end } = await talk()
  if (end !== 'answered' && end !== 'answered-before') wrong.push(`the next conversation ended ${end}`)
  const bodies = visible().map(({ body }) => body)
  if (bodies.length !== 1 || !bodies[0]?.endsWith('Because.')) wrong.push(`people see: ${JSON.stringify(bodies)}`)
  if (github.unexpected.length > 0) wrong.push(`unknown requests: ${github.unexpected.join(', ')}`)
  const how = `${processes} processes of ${'token' in credentials ? 'a job' : 'the App'}`
  return { plan: `${how} in ${inReview ? 'a review' : 'the conversation'}; ${plan}`, wrong }
}

function lineTo(github: LocalGitHub, credentials: GitHubOptions['credentials']) {
  return makeGitHub({
    apiUrl: github.apiUrl,
    serverUrl: github.url,
    credentials,
    userAgent: 'test',
    clock: manualClock({ start: Date.now(), jump: true }),
    onNotice: () => undefined,
  })
}

function conversation(
  github: LocalGitHub,
  credentials: GitHubOptions['credentials'],
  target: Conversation<string>['target'],
): Conversation<string> {
  return {
    github: lineTo(github, credentials),
    target,
    question: 'why?',
    answer: async () => 'Because.',
    render: (answer) => answer,
    shown: () => ({ run: `${'a'.repeat(40)}-run`, id: 'b'.repeat(32) }),
    harmless: (text) => text,
    clock: systemClock,
    opensAfterMs: 10_000,
    signal: never,
    onNotice: () => undefined,
  }
}

test('if GitHub loses any reply, a stale answer has one mark, and none after the push is reverted', async () => {
  await using there = await makeStoredRuns()
  using folder = gitFolder()
  const [first, second] = ['one', 'other'].map((line) => folder.commit({ 'a.ts': `${line}\n` }))
  const record = storeAnswer(there, await there.sealed(first!), [makeCitation('a.ts', 1)])
  const shown = answerMarkdown(record, { host: 'github.com', repository: 'octo/tools' }, { form: 'comment' })
  const failures = await runSchedules(schedulesFrom(4, 60), async (seed) => {
    const random = randomFrom(seed)
    await using github = await startGitHub()
    const repository = github.addRepository({ name: 'octo/tools', directory: folder.directory })
    const pull = github.addPull(repository, { head: { ref: 'main', sha: second! } })
    const body = `${writeAskMarker({ question: seed + 1, state: 'done', answer: record })}\n${shown}`
    const comment = github.addComment(repository, pull.number, 'github-actions[bot]', body)
    const token = github.issueToken({ permissions: { contents: 'read', pull_requests: 'write' } })
    const mark = () =>
      markStaleComments(
        lineTo(github, { token }),
        { context: there.context, repository: there.repository, pull: pull.number },
        never,
      ).catch((error: unknown) => error)
    const wrong: string[] = []
    const plans: string[] = []
    for (const [head, marks] of [[second!, 1] as const, [first!, 0] as const]) {
      pull.head.sha = head
      plans.push(breaking.breakSome(github.server, random, 6))
      breaking.breakNewKinds(github.server)
      for (const ending of await Promise.all([mark(), mark()]))
        if (ending instanceof Error && !isHandoffError(ending)) wrong.push(String(ending))
      github.server.clearRules()
      await mark()
      const found = comment.body.match(/handoff:stale/g)?.length ?? 0
      if (found !== marks || !comment.body.endsWith(shown)) wrong.push(`people see: ${comment.body}`)
    }
    return { plan: plans.join(' | '), wrong }
  })
  expect(failures).toEqual([])
}, 600_000)
