// What people see of a question and its answer, on a GitHub that really keeps comments: every path has an end, and one visible comment.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type LocalGitHub, startGitHub } from '../../../../src/emulators/github/server.js'
import type { Pull, Repository, StoredComment, Token } from '../../../../src/emulators/github/state.js'
import { makeGitHub } from '../../../../src/handoff/clients/github/client.js'
import { systemClock } from '../../../../src/handoff/clients/system-clock.js'
import { readAskMarker } from '../../../../src/handoff/domain/answers/comment-marker.js'
import type { Target } from '../../../../src/handoff/domain/answers/parse-ask-comment.js'
import { HandoffError } from '../../../../src/handoff/domain/errors.js'
import {
  type Conversation,
  endConversation,
  runConversation,
} from '../../../../src/handoff/workflows/pull-request/comment-lifecycle.js'
import { manualClock } from '../../../support/clock.js'
import { until } from '../../../support/until.js'

let local: LocalGitHub
let repository: Repository
let pull: Pull
let question: StoredComment
let notices: string[]
let secret: string

beforeEach(async () => {
  local = await startGitHub()
  repository = local.addRepository({ name: 'octo/tools', collaborators: { wanda: 'write' } })
  pull = local.addPull(repository, { head: { ref: 'x', sha: 'b'.repeat(40) } })
  question = local.addComment(repository, pull.number, 'wanda', '/ask why is @octo here?')
  notices = []
  secret = job()
})

afterEach(async () => {
  expect(local.unexpected).toEqual([])
  await local.close()
})

function job(permissions: Token['permissions'] = { pull_requests: 'write' }): string {
  return local.issueToken({ permissions })
}

function makeClient(token = secret) {
  return makeGitHub({
    apiUrl: local.apiUrl,
    serverUrl: local.url,
    credentials: { token },
    userAgent: 'test',
    clock: manualClock({ start: Date.now(), jump: true }),
    onNotice: (text) => notices.push(text),
  })
}

const inConversation = (): Target => ({
  thread: { kind: 'issue', repository: 'octo/tools', number: pull.number },
  question: question.id,
  askedAt: new Date(question.createdAt).toISOString(),
})

const shown = { run: `${'a'.repeat(40)}-first`, id: 'b'.repeat(32) }

function talk(more: Partial<Conversation<string>> = {}): Conversation<string> {
  return {
    github: makeClient(),
    target: inConversation(),
    question: 'why is @octo here?',
    asker: 'wanda',
    answer: async () => 'Because.',
    render: (answer) => answer,
    shown: () => shown,
    harmless: (text) => text.replaceAll('@', '(at)'),
    clock: systemClock,
    opensAfterMs: 0,
    signal: new AbortController().signal,
    onNotice: (text) => notices.push(text),
    ...more,
  }
}

/** What people see under the question, without the markers. */
const seen = () =>
  local
    .visibleComments(repository, pull.number)
    .filter((one) => one !== question && one.author.type === 'Bot')
    .map((one) => one.body.replace(/^<!-- handoff:ask .*-->\n/, ''))

const ours = () => local.comments.filter((one) => one.author.type === 'Bot')
const states = (comment: StoredComment) => comment.history.map(({ body }) => readAskMarker(body)?.state)

const firstWords = 'The answer will stand in this comment; GitHub sends no second mail for it.'

describe('a question and its answer', () => {
  test('👀, a comment that works, the answer in its place, 🚀', async () => {
    const during: string[][] = []
    const ending = await runConversation(
      talk({
        answer: async () => {
          during.push(local.reactionsOf(question), seen())
          return 'Because.'
        },
      }),
    )
    expect(during).toEqual([
      ['github-actions[bot]:eyes'],
      [`**wanda** asks:\n\n> why is (at)octo here?\n\n⏳ ${firstWords}`],
    ])
    expect(ending).toMatchObject({ end: 'answered', answer: 'Because.', comment: { kind: 'issue', id: ours()[0]!.id } })
    expect(seen()).toEqual(['Because.'])
    expect(states(ours()[0]!)).toEqual(['working', 'done'])
    expect(ours()[0]!.body).toBe(
      `<!-- handoff:ask v=1 comment=${question.id} part=1 state=done run=${shown.run} id=${shown.id} -->\nBecause.`,
    )
    expect(local.reactionsOf(question)).toEqual(['github-actions[bot]:rocket'])
    expect(notices).toEqual([])
  })

  test('in a review thread it is answered in that thread, also when a reply asks', async () => {
    const root = local.addReviewComment(repository, pull.number, 'wanda', 'hm')
    const other = local.addReviewComment(repository, pull.number, 'wanda', 'another thread')
    const asking = local.addReviewComment(repository, pull.number, 'wanda', '/ask why?', root.id)
    const target: Target = {
      thread: { kind: 'review', repository: 'octo/tools', number: pull.number, root: root.id },
      question: asking.id,
    }
    await runConversation(talk({ target }))
    expect(ours().map(({ kind, root: at, body }) => [kind, at, body.split('\n').slice(1)])).toEqual([
      ['review', root.id, ['Because.']],
    ])
    expect(local.reactionsOf(asking)).toEqual(['github-actions[bot]:rocket'])
    expect(other.reactions).toEqual([])
  })

  test.each([
    ['GET', { kind: 'cut', bytes: 7 }],
    ['PATCH', { kind: 'answer', status: 502, body: '{}' }],
    ['PATCH', { kind: 'lose-reply' }],
  ] as const)('in a review thread a call that breaks once leaves the answer once: %s %j', async (method, fault) => {
    const root = local.addReviewComment(repository, pull.number, 'wanda', '/ask why?')
    const target: Target = {
      thread: { kind: 'review', repository: 'octo/tools', number: pull.number, root: root.id },
      question: root.id,
    }
    await runConversation(talk({ target, answer: () => Promise.reject(new HandoffError('model', 'No.')) }))
    let met = 0
    const match = () => ++met > 0
    local.server.rule({ method, path: /\/pulls\/comments\/\d+$/, match, times: 1, fault })
    await runConversation(talk({ target }))
    expect(met).toBeGreaterThan(0)
    expect(ours().map(({ body }) => body.split('\n').at(-1))).toEqual(['Because.'])
  })

  test('tells where the comment is as soon as it is there, and shows the page of the job while it works', async () => {
    const reported: number[] = []
    const link = 'https://github.com/octo/tools/actions/runs/1'
    const answer = async () => {
      expect(reported).toEqual([ours()[0]!.id])
      return 'x'
    }
    await runConversation(talk({ link, answer, onComment: (key) => reported.push(key.id) }))
    expect(ours()[0]!.history[0]!.body).toContain(`[Watch the work](${link})`)
    expect(ours()[0]!.body).not.toContain(link)
  })
})

describe('an answer that is there soon', () => {
  const soon = { opensAfterMs: 10_000 }

  test('is the first version of its comment: one post, no edit', async () => {
    const during: number[] = []
    const answer = async () => {
      during.push(ours().length)
      return 'Because.'
    }
    const reported: number[] = []
    const ending = await runConversation(talk({ ...soon, answer, onComment: ({ id }) => reported.push(id) }))
    expect(during).toEqual([0])
    expect(ending).toMatchObject({ end: 'answered', comment: { id: ours()[0]!.id } })
    expect(ours()).toHaveLength(1)
    expect(states(ours()[0]!)).toEqual(['done'])
    expect(reported).toEqual([ours()[0]!.id])
    expect(local.reactionsOf(question)).toEqual(['github-actions[bot]:rocket'])
  })

  test('and one that is not: after ten seconds the comment names the asker, the question and the progress', async () => {
    const clock = manualClock()
    const work = heldAnswer()
    const ending = runConversation(talk({ ...soon, clock, answer: work.answer }))
    const progress = await work.started
    progress('half way')
    await until('it waits', () => clock.waiting > 0)
    clock.advance(9_999)
    expect(ours()).toEqual([])
    clock.advance(1)
    await until('the comment is there', () => ours().length === 1)
    expect(seen()).toEqual(['**wanda** asks:\n\n> why is (at)octo here?\n\n⏳ half way'])
    work.finish('Because.')
    await ending
    expect(states(ours()[0]!)).toEqual(['working', 'done'])
  })

  test('delivered again: the comment that stands there is found, and nothing is done', async () => {
    await runConversation(talk(soon))
    const ending = await runConversation(talk({ ...soon, answer: () => Promise.reject(new Error('not asked')) }))
    expect(ending.end).toBe('answered-before')
    expect(states(ours()[0]!)).toEqual(['done'])
  })

  test('delivered three times at once: one comment', async () => {
    await Promise.all([runConversation(talk(soon)), runConversation(talk(soon)), runConversation(talk(soon))])
    expect(seen()).toEqual(['Because.'])
  })

  test('a reaction that GitHub refuses opens the comment at once: its refusal costs no answer', async () => {
    local.server.rule({ method: 'POST', fault: { kind: 'answer', status: 403, body: '{"message":"no"}' } })
    let asked = 0
    const answer = async () => String(++asked)
    const ending = await runConversation(talk({ ...soon, answer }))
    expect([ending.end, asked]).toEqual(['failed', 0])
  })

  test('a failure is the first version too', async () => {
    const failure = new HandoffError('model', 'The model is away.')
    await runConversation(talk({ ...soon, answer: () => Promise.reject(failure) }))
    expect(states(ours()[0]!)).toEqual(['failed'])
    expect(seen()[0]).toContain('The model is away.')
  })
})

/** Work that a test holds in its hands. */
function heldAnswer() {
  const started = Promise.withResolvers<(text: string) => void>()
  const done = Promise.withResolvers<string>()
  const answer = (onProgress: (text: string) => void) => {
    started.resolve(onProgress)
    return done.promise
  }
  return { answer, started: started.promise, finish: done.resolve }
}

describe('progress', () => {
  test('is shown at most every three seconds, and always the newest', async () => {
    const clock = manualClock()
    const work = heldAnswer()
    const ending = runConversation(talk({ clock, answer: work.answer }))
    const progress = await work.started
    const edits = () => ours()[0]!.history.length - 1
    const shown = () => ours()[0]!.body.split('⏳ ')[1]
    for (let step = 0; step < 50; step += 1) progress(`step ${step}`)
    await until('it waits', () => clock.waiting > 0)
    clock.advance(2_999)
    expect(edits()).toBe(0)
    clock.advance(1)
    await until('the newest is shown', () => shown() === 'step 49')
    expect(edits()).toBe(1)
    progress('step 50')
    progress('step 51')
    await until('it waits again', () => clock.waiting > 0)
    expect(edits()).toBe(1)
    clock.advance(3_000)
    await until('the newest is shown', () => shown() === 'step 51')
    progress('never shown')
    await until('it waits once more', () => clock.waiting > 0)
    work.finish('Because.')
    await ending
    expect(ours()[0]!.history.map(({ body }) => body.split('⏳ ')[1] ?? 'answer')).toEqual([
      firstWords,
      'step 49',
      'step 51',
      'answer',
    ])
  })

  test('that is still on its way when the answer comes never stands over it', async () => {
    const clock = manualClock({ jump: true })
    local.server.rule({ method: 'PATCH', times: 1, fault: { kind: 'delay', milliseconds: 150 } })
    const answer = async (onProgress: (text: string) => void) => {
      onProgress('half way')
      await until('the edit is on its way', () => local.server.requests.some(({ method }) => method === 'PATCH'))
      return 'Because.'
    }
    await runConversation(
      talk({
        clock: {
          ...systemClock,
          now: clock.now,
          sleep: (ms, signal) => (ms === 2_000 ? systemClock.sleep(ms, signal) : clock.sleep(ms, signal)),
        },
        answer,
      }),
    )
    expect(states(ours()[0]!)).toEqual(['working', 'working', 'done'])
    expect(seen()).toEqual(['Because.'])
  })

  test('that arrives after the answer is put right', async () => {
    const lists = { method: 'GET', path: /issues\/\d+\/comments\?/ }
    local.server.rule({ ...lists, skip: 2, fault: { kind: 'delay', milliseconds: 100 } })
    const ending = runConversation(talk())
    const comment = await until('the answer is shown', () => ours().find(({ body }) => body.includes('state=done')))
    local.editComment(comment, comment.author.login, comment.history[0]!.body)
    await ending
    expect(states(comment)).toEqual(['working', 'done', 'working', 'done'])
  })

  test('that GitHub does not take is left out, and later words come later', async () => {
    const clock = manualClock()
    const work = heldAnswer()
    const ending = runConversation(talk({ clock, answer: work.answer }))
    const progress = await work.started
    local.limits.addSecondaryLimit({ times: 1, method: 'PATCH', retryAfterSeconds: 20 })
    progress('one')
    await until('it waits', () => clock.waiting > 0)
    clock.advance(3_000)
    await until('GitHub said no', () =>
      local.server.requests.some(({ method, status }) => method === 'PATCH' && status === 403),
    )
    progress('two')
    await until('it waits', () => clock.waiting > 0)
    clock.advance(19_999)
    expect(ours()[0]!.history).toHaveLength(1)
    clock.advance(1)
    await until('the newest is shown', () => ours()[0]!.body.includes('⏳ two'))
    work.finish('Because.')
    expect((await ending).end).toBe('answered')
    expect(seen()).toEqual(['Because.'])
  })
})

describe('the same question twice', () => {
  /** As the answer store has it: who comes second while the first works learns it, and later finds the answer. */
  function answerStore() {
    const state = { running: false, answer: null as string | null, made: 0 }
    const answer = async () => {
      if (state.answer !== null) return state.answer
      if (state.running)
        throw new HandoffError('in-progress', 'Another process answers it.', { retryAfterSeconds: 0.02 })
      state.running = true
      await new Promise((resolve) => setTimeout(resolve, 100))
      state.made += 1
      state.answer = 'Because.'
      return state.answer
    }
    return { state, answer }
  }

  test('delivered twice at once: one answer, one comment', async () => {
    const { state, answer } = answerStore()
    const endings = await Promise.all([
      runConversation(talk({ answer })),
      runConversation(talk({ answer })),
      runConversation(talk({ answer })),
    ])
    for (const { end } of endings) expect(['answered', 'answered-before']).toContain(end)
    expect(state.made).toBe(1)
    expect(seen()).toEqual(['Because.'])
    const standing = ours().find((comment) => !comment.deleted)!
    expect(states(standing).filter((one) => one === 'done')).toHaveLength(1)
    expect(local.reactionsOf(question)).toEqual(['github-actions[bot]:rocket'])
  })

  test('delivered twice at once with every creation doubled and one reply lost: still one comment', async () => {
    const { answer } = answerStore()
    local.server.rule({ method: 'POST', path: /issues\/\d+\/comments$/, times: 2, fault: { kind: 'twice' } })
    local.server.rule({
      method: 'POST',
      path: /issues\/\d+\/comments$/,
      skip: 2,
      times: 1,
      fault: { kind: 'lose-reply' },
    })
    await Promise.all([
      runConversation(talk({ answer })),
      runConversation(talk({ answer })),
      runConversation(talk({ answer })),
    ])
    expect(seen()).toEqual(['Because.'])
    expect(ours().length).toBeGreaterThan(3)
  })

  test('who comes second never writes progress over the other’s answer', async () => {
    const clock = manualClock()
    const first = heldAnswer()
    const second = heldAnswer()
    const one = runConversation(talk({ answer: first.answer }))
    await first.started
    const two = runConversation(talk({ answer: second.answer, clock }))
    const progress = await second.started
    first.finish('Because.')
    await one
    progress('half way')
    await until('it waits', () => clock.waiting > 0)
    const before = local.server.requests.length
    clock.advance(3_000)
    await until('it has looked', () => local.server.requests.length > before)
    second.finish('Because.')
    expect((await two).end).toBe('answered')
    expect(states(ours()[0]!)).toEqual(['working', 'done'])
  })

  test('delivered again after the answer: nothing is done', async () => {
    await runConversation(talk())
    const before = ours()[0]!.history.length
    let asked = 0
    const ending = await runConversation(
      talk({
        answer: async () => {
          asked += 1
          return 'Other.'
        },
      }),
    )
    expect(ending).toEqual({
      end: 'answered-before',
      comment: { kind: 'issue', repository: 'octo/tools', id: ours()[0]!.id },
    })
    expect([asked, ours().length, ours()[0]!.history.length]).toEqual([0, 1, before])
    expect(local.reactionsOf(question)).toEqual(['github-actions[bot]:rocket'])
  })

  test('delivered again after a failure: tried again in the same comment', async () => {
    const failing = async () => {
      throw new HandoffError('model', 'The model did not answer.')
    }
    await runConversation(talk({ answer: failing }))
    expect(local.reactionsOf(question)).toEqual(['github-actions[bot]:confused'])
    expect((await runConversation(talk())).end).toBe('answered')
    expect(states(ours()[0]!)).toEqual(['working', 'failed', 'working', 'done'])
    expect(seen()).toEqual(['Because.'])
    expect(local.reactionsOf(question)).toEqual(['github-actions[bot]:rocket'])
  })

  test('a reply that was lost, on creation or on the last edit, costs nothing', async () => {
    local.server.rule({ method: 'POST', path: /issues\/\d+\/comments$/, times: 1, fault: { kind: 'lose-reply' } })
    local.server.rule({ method: 'PATCH', times: 1, fault: { kind: 'lose-reply' } })
    expect((await runConversation(talk())).end).toBe('answered')
    expect(ours()).toHaveLength(1)
    expect(seen()).toEqual(['Because.'])
  })

  test('a twin that appears late is deleted', async () => {
    const answer = async () => {
      const [first] = ours()
      const twin = local.addComment(repository, pull.number, first!.author.login, first!.body)
      twin.createdAt += 1
      return 'Because.'
    }
    await runConversation(talk({ answer }))
    expect(seen()).toEqual(['Because.'])
    expect(ours()).toHaveLength(2)
  })
})

describe('comments that only look like ours', () => {
  test('a person’s paste of the marker, and a bot’s quote of it, are left alone', async () => {
    const marker = `<!-- handoff:ask v=1 comment=${question.id} part=1 state=done -->`
    const pasted = local.addComment(repository, pull.number, 'wanda', `${marker}\nI am the answer`)
    const quotedBody = `> ${marker}\nan account wrote this`
    const quoted = local.addComment(repository, pull.number, 'github-actions[bot]', quotedBody)
    expect((await runConversation(talk())).end).toBe('answered')
    expect([pasted.history.length, quoted.history.length]).toEqual([1, 1])
    expect([pasted.deleted, quoted.deleted]).toEqual([undefined, undefined])
    expect(seen()).toEqual([quotedBody, 'Because.'])
  })

  test('the answer to another question stays as it is', async () => {
    await runConversation(talk())
    const first = question
    question = local.addComment(repository, pull.number, 'wanda', '/ask and why not?')
    await runConversation(talk({ target: inConversation(), answer: async () => 'No.' }))
    expect(seen()).toEqual(['Because.', 'No.'])
    expect(first.id).not.toBe(question.id)
  })
})

describe('a user deletes', () => {
  test('the comment, half way: nothing more is written, and the answer is there all the same', async () => {
    const answer = async () => {
      local.deleteComment(ours()[0]!, 'wanda')
      return 'Because.'
    }
    const ending = await runConversation(talk({ answer }))
    expect(ending).toEqual({ end: 'answered', answer: 'Because.' })
    expect(seen()).toEqual([])
    expect(ours()).toHaveLength(1)
    expect(local.reactionsOf(question)).toEqual(['github-actions[bot]:rocket'])
    expect(notices).toEqual([])
  })

  test('the comment, before it fails', async () => {
    const answer = async () => {
      local.deleteComment(ours()[0]!, 'wanda')
      throw new HandoffError('model', 'No.')
    }
    expect((await runConversation(talk({ answer }))).end).toBe('failed')
    expect(ours()).toHaveLength(1)
    expect(local.reactionsOf(question)).toEqual(['github-actions[bot]:confused'])
  })

  test('the question, before the work: there is none', async () => {
    local.deleteComment(question, 'wanda')
    let asked = 0
    const answer = async () => {
      asked += 1
      return 'x'
    }
    expect(await runConversation(talk({ answer }))).toEqual({ end: 'question-gone' })
    expect([asked, ours().length]).toEqual([0, 0])
  })

  test('the question, half way: the answer is written, the reaction is not', async () => {
    const answer = async () => {
      local.deleteComment(question, 'wanda')
      return 'Because.'
    }
    expect((await runConversation(talk({ answer }))).end).toBe('answered')
    expect(seen()).toEqual(['Because.'])
    expect(notices).toEqual([])
  })
})

describe('when there is no answer', () => {
  test('the cause and the next step are shown, made harmless', async () => {
    const answer = async () => {
      throw new HandoffError('not-sealed', 'No run of @octo is sealed.', { next: 'Push @again.' })
    }
    const ending = await runConversation(talk({ answer, link: 'https://job' }))
    expect(ending).toMatchObject({ end: 'failed', error: { code: 'not-sealed' }, comment: { id: ours()[0]!.id } })
    expect(seen()).toEqual([
      '> why is (at)octo here?\n\n😕 There is no answer. No run of (at)octo is sealed.\n\nPush (at)again.\n\n[Watch the work](https://job)',
    ])
    expect(states(ours()[0]!)).toEqual(['working', 'failed'])
    expect(local.reactionsOf(question)).toEqual(['github-actions[bot]:confused'])
  })

  test('a bug of ours is not shown in its details', async () => {
    const answer = async () => {
      throw new TypeError('x is undefined at /secret/path')
    }
    const ending = await runConversation(talk({ answer }))
    expect(ending).toMatchObject({ end: 'failed', error: expect.any(TypeError) })
    expect(seen()[0]).toContain('Something went wrong inside handoff.')
    expect(seen()[0]).not.toContain('secret')
  })

  test('stopped: the comment says so at once, and the work is waited for', async () => {
    const stop = new AbortController()
    const order: string[] = []
    const answer = async () => {
      stop.abort()
      await until('the comment says so', () => ours()[0]!.body.includes('stopped'))
      order.push('sandbox gone')
      throw new Error('aborted')
    }
    const ending = await runConversation(talk({ answer, signal: stop.signal }))
    order.push('ended')
    expect(order).toEqual(['sandbox gone', 'ended'])
    expect(ending).toMatchObject({ end: 'cancelled', error: { code: 'cancelled' } })
    expect(states(ours()[0]!)).toEqual(['working', 'cancelled'])
    expect(local.reactionsOf(question)).toEqual(['github-actions[bot]:confused'])
  })

  test('stopped before anything was written: it is said all the same', async () => {
    const ending = await runConversation(talk({ signal: AbortSignal.abort() }))
    expect(ending.end).toBe('cancelled')
    expect(seen()[0]).toContain('This was stopped before there was an answer.')
  })

  test('out of time is a failure that says so', async () => {
    const deadline = new AbortController()
    const answer = async () => {
      deadline.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'))
      return 'too late'
    }
    const ending = await runConversation(talk({ answer, signal: deadline.signal }))
    expect(ending).toMatchObject({ end: 'failed', error: { code: 'timeout' } })
    expect(seen()[0]).toContain('Time ran out while answering the question.')
  })

  test('where we may not write, no answer is paid for', async () => {
    let asked = 0
    const answer = async () => {
      asked += 1
      return 'x'
    }
    const github = makeClient(job({ pull_requests: 'read' }))
    const ending = await runConversation(talk({ github, answer }))
    expect(ending).toMatchObject({ end: 'failed', error: { code: 'forbidden' } })
    expect([asked, ours().length]).toEqual([0, 0])
    expect(notices[0]).toContain('Could not react to the question')
  })

  test('the words of the state are never longer than a comment', async () => {
    const long = '🦊'.repeat(50_000)
    await runConversation(
      talk({ question: long, answer: async () => Promise.reject(new HandoffError('model', 'No.')) }),
    )
    expect(ours()[0]!.history.map(({ body }) => body.length < 2_000)).toEqual([true, true])
    expect(ours()[0]!.body.isWellFormed()).toBe(true)
  })
})

describe('limits and outages', () => {
  test('a secondary limit at the start costs no time: the comment comes with the answer', async () => {
    local.limits.addSecondaryLimit({ times: 1, method: 'POST', path: /reactions$/, retryAfterSeconds: 60 })
    local.limits.addSecondaryLimit({ times: 1, method: 'POST', path: /issues\/\d+\/comments$/, retryAfterSeconds: 60 })
    const during: number[] = []
    const ending = await runConversation(
      talk({
        answer: async () => {
          during.push(ours().length)
          return 'Because.'
        },
      }),
    )
    expect(during).toEqual([0])
    expect(ending).toMatchObject({ end: 'answered', comment: { id: ours()[0]!.id } })
    expect(seen()).toEqual(['Because.'])
    expect(notices.join('\n')).toContain('Could not react to the question')
    expect(notices.join('\n')).toContain('Could not write a comment yet')
    expect(notices.join('\n')).not.toContain('asks to wait')
  })

  test('a secondary limit at the end is waited for', async () => {
    local.limits.addSecondaryLimit({ times: 2, method: 'PATCH', retryAfterSeconds: 30 })
    expect((await runConversation(talk())).end).toBe('answered')
    expect(seen()).toEqual(['Because.'])
    expect(notices.filter((text) => text.includes('asks to wait 30 s'))).toHaveLength(2)
  })

  test('an answer that was shown without a word back is not taken for a failure', async () => {
    local.server.rule({ method: 'PATCH', times: 4, fault: { kind: 'lose-reply' } })
    expect(await runConversation(talk())).toMatchObject({ end: 'failed', answer: 'Because.' })
    expect(seen()).toEqual(['Because.'])
    expect(local.reactionsOf(question)).toEqual(['github-actions[bot]:rocket'])
  })

  test('an answer that cannot be shown is handed back', async () => {
    const answer = async () => {
      local.server.rule({ fault: { kind: 'answer', status: 502 } })
      return 'Because.'
    }
    const ending = await runConversation(talk({ answer }))
    expect(ending).toMatchObject({ end: 'failed', answer: 'Because.', error: { code: 'git' } })
    expect(notices.join('\n')).toContain('The answer is there, but its comment could not be written')
    // Later, when GitHub is back, the same event or a cron finishes it from the answer store.
    local.server.clearRules()
    expect((await runConversation(talk())).end).toBe('answered')
    expect(seen()).toEqual(['Because.'])
  })
})

test('a comment of an earlier version, in which the answer went on, is removed', async () => {
  const github = makeClient()
  const thread = inConversation().thread
  const marker = `<!-- handoff:ask v=1 comment=${question.id} part=2 state=done -->`
  await github.createComment(thread, `${marker}\nmore`, { signal: new AbortController().signal })
  await runConversation(talk())
  expect(seen()).toEqual(['Because.'])
})

describe('the last word of a step that runs after the job', () => {
  const end = (more: Partial<Parameters<typeof endConversation>[0]> = {}) =>
    endConversation({
      ...talk(),
      error: new HandoffError('cancelled', 'Stopped.'),
      signal: AbortSignal.timeout(60_000),
      ...more,
    })

  /** A job that was killed while it worked. */
  async function killed() {
    const github = makeClient()
    const target = inConversation()
    void runConversation(talk({ github, target, answer: () => new Promise(() => {}) }))
    await until('it works', () => ours().length === 1 && local.server.requests.at(-1)?.method === 'GET')
    return ours()[0]!
  }

  test('ends what the job left working, and does nothing more the second time', async () => {
    const comment = await killed()
    expect(await end({ comment: comment.id })).toBe('cancelled')
    expect(states(comment)).toEqual(['working', 'cancelled'])
    expect(local.reactionsOf(question)).toEqual(['github-actions[bot]:confused'])
    expect(await end({ comment: comment.id })).toBe('cancelled')
    expect(states(comment)).toEqual(['working', 'cancelled'])
  })

  test('finds the comment without being asked, or makes it', async () => {
    const failure = new HandoffError('sandbox', 'No machine.', { next: 'Try again.' })
    expect(await end({ error: failure })).toBe('failed')
    expect(seen()).toEqual(['> why is (at)octo here?\n\n😕 There is no answer. No machine.\n\nTry again.'])
    expect(await end()).toBe('failed')
    expect(ours()).toHaveLength(1)
    expect(ours()[0]!.history).toHaveLength(1)
  })

  test('leaves an answer alone, and puts the reaction right', async () => {
    await runConversation(talk())
    local.addComment(repository, pull.number, 'wanda', 'noise')
    question.reactions[0]!.removed = false
    for (const reaction of question.reactions) reaction.removed = reaction.content !== 'eyes'
    expect(await end({ comment: ours()[0]!.id })).toBe('done')
    expect(seen()).toEqual(['Because.'])
    expect(local.reactionsOf(question)).toEqual(['github-actions[bot]:rocket'])
  })

  test('makes no other comment when a user deleted it', async () => {
    const comment = await killed()
    local.deleteComment(comment, 'wanda')
    expect(await end({ comment: comment.id })).toBe('deleted')
    expect(ours()).toHaveLength(1)
  })
})
