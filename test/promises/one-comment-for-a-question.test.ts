// Comments under faults: however GitHub fails, a question has at most one visible answer, and it ends with one when somebody comes again.
//
// Each schedule follows from its seed. SEED=17 replays one; LONG=1 runs five hundred.
import { expect, test } from 'vitest'
import { type Conversation, converse } from '../../src/handoff/hall/conversation.js'
import { isHandoffError } from '../../src/handoff/library/errors.js'
import { systemClock } from '../../src/handoff/lines/clock.js'
import { makeGitHub } from '../../src/handoff/lines/github.js'
import { type LocalGitHub, startGitHub } from '../../src/local/github/github.js'
import type { Fault, RecordedRequest } from '../../src/local/server.js'
import { manualClock } from '../support/clock.js'
import { routeOf } from '../support/gate.js'
import { type Random, randomFrom } from '../support/random.js'
import { runSchedules, type Schedule, schedulesFrom } from '../support/schedules.js'

const faults: Fault[] = [
  { kind: 'lose-reply' },
  { kind: 'reset' },
  { kind: 'cut', bytes: 9 },
  { kind: 'answer', status: 502, body: '{"message":"bad gateway"}' },
  { kind: 'answer', status: 500, body: '{"message":"oops"}' },
  { kind: 'answer', status: 403, headers: { 'retry-after': '1' }, body: '{"message":"secondary rate limit"}' },
]

test('whatever GitHub loses, a question has one visible comment, and it ends with the answer', async () => {
  const failures = await runSchedules(schedulesFrom(40, 500), schedule)
  expect(failures).toEqual([])
}, 600_000)

async function schedule(seed: number): Promise<Schedule> {
  const random = randomFrom(seed)
  await using github = await startGitHub()
  const repository = github.addRepository({ name: 'octo/tools', collaborators: { wanda: 'write' } })
  const pull = github.addPull(repository, { head: { ref: 'x', sha: 'b'.repeat(40) } })
  const question = github.say(repository, pull.number, 'wanda', '/ask why?')
  const secret = github.issueToken({ permissions: { pull_requests: 'write' } })
  const visible = () => github.visible(repository, pull.number).filter((one) => one.author.type === 'Bot')
  const target = {
    thread: { kind: 'issue' as const, repository: 'octo/tools', number: pull.number },
    question: question.id,
    askedAt: new Date(question.createdAt).toISOString(),
  }
  const talk = (more: Partial<Conversation<string>> = {}) => converse(conversation(github, secret, target, more))

  const plan = breakSome(github, random)
  breakWhatIsNew(github)
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
  return { plan: `${processes} processes; ${plan}`, wrong }
}

/** One to three of the first twelve requests. */
function breakSome(github: LocalGitHub, random: Random): string {
  return Array.from({ length: 1 + random.below(3) }, () => {
    const skip = random.below(12)
    const fault = random.pick(faults)
    github.server.rule({ skip, times: 1, fault })
    return `request ${skip + 1} ${fault.kind}`
  }).join(', ')
}

const broken = new Set<string>()

/** Each kind of request when it comes for the first time in any schedule: some are only made because another failed. */
function breakWhatIsNew(github: LocalGitHub): void {
  const met = new WeakMap<RecordedRequest, number>()
  const turn = (request: RecordedRequest) => {
    const route = routeOf('git', request)
    if (!met.has(request)) met.set(request, broken.has(route) ? -1 : broken.size % faults.length)
    broken.add(route)
    return met.get(request)
  }
  for (const [index, fault] of faults.entries())
    github.server.rule({ match: (request) => turn(request) === index, fault })
}

function conversation(
  github: LocalGitHub,
  token: string,
  target: Conversation<string>['target'],
  more: Partial<Conversation<string>>,
): Conversation<string> {
  return {
    github: makeGitHub({
      apiUrl: github.apiUrl,
      serverUrl: github.url,
      credentials: { token },
      userAgent: 'test',
      clock: manualClock({ start: Date.now(), jump: true }),
      onNotice: () => undefined,
    }),
    target,
    question: 'why?',
    answer: async () => 'Because.',
    render: (answer) => [answer],
    harmless: (text) => text,
    clock: systemClock,
    signal: new AbortController().signal,
    onNotice: () => undefined,
    ...more,
  }
}
