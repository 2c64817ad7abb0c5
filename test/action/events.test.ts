// Every event that GitHub's own examples show, given to the Action's decision: it crashes on none, and reads only what GitHub sends.
import { describe, expect, test } from 'vitest'
import type { Context, Payload } from '../../src/action/event-context.js'
import type { Options } from '../../src/action/inputs.js'
import { type Route, routeEvent } from '../../src/action/route-event.js'
import { readAskEvent } from '../../src/handoff/domain/answers/parse-ask-comment.js'
import { exampleEvents as all, askingEvents } from '../support/example-events.js'

/** What a job with the inputs of the quick start would do. */
function decideOn(name: string, payload: object, options: Partial<Options> = {}): Route {
  const sha = (payload as { after?: string }).after ?? 'a'.repeat(40)
  const context = { event: name, payload: payload as Payload, sha, ref: 'refs/heads/main' } as Context
  return routeEvent(context, { mode: 'auto', question: '', allowUntrustedHead: false, ...options } as Options)
}

/** The payload, and the path of each property that is read of it. */
function watched(payload: object) {
  const read = new Map<string, boolean>()
  const watch = (value: object, at: string): object =>
    new Proxy(value, {
      get(target, key) {
        const found: unknown = Reflect.get(target, key)
        if (typeof key !== 'string') return found
        const path = `${at}${key}`
        read.set(path, found !== undefined)
        return typeof found === 'object' && found !== null ? watch(found, `${path}.`) : found
      },
    })
  return { payload: watch(payload, ''), read }
}

const tell = (decision: Route) => decision.kind

test('the examples are all of them', () => {
  expect(new Set(all.map(({ name }) => name)).size).toBeGreaterThan(50)
  expect(all.length).toBeGreaterThan(300)
})

test.each(['auto', 'summarise', 'ask'] as const)('no example crashes a job with mode: %s', (mode) => {
  for (const { name, payload } of all) expect(() => decideOn(name, payload, { mode }), name).not.toThrow()
})

test('only pushes and pull requests are summarised, and nothing else does anything', () => {
  const doing = new Map<string, Set<string>>()
  for (const { name, payload } of all) {
    const kind = tell(decideOn(name, payload))
    if (kind !== 'nothing') doing.set(name, (doing.get(name) ?? new Set()).add(kind))
  }
  expect(Object.fromEntries([...doing].map(([name, kinds]) => [name, [...kinds].sort()]))).toEqual({
    merge_group: ['summarise'],
    pull_request: ['summarise'],
    push: ['summarise'],
    workflow_dispatch: ['summarise'],
  })
})

test('a push that deletes a branch has no commit to summarise', () => {
  const pushes = all.filter(({ name }) => name === 'push').map(({ payload }) => payload as { deleted: boolean })
  expect(new Set(pushes.map(({ deleted }) => deleted))).toEqual(new Set([true, false]))
  expect(pushes.map((payload) => tell(decideOn('push', payload)))).toEqual(
    pushes.map(({ deleted }) => (deleted ? 'nothing' : 'summarise')),
  )
})

test('a closed pull request is not summarised, and an edited comment is not answered', () => {
  const pulls = all.filter(({ name }) => name === 'pull_request')
  const closed = pulls.filter(({ payload }) => (payload as { action: string }).action === 'closed')
  expect(closed.length).toBeGreaterThan(0)
  for (const { name, payload } of closed) expect(tell(decideOn(name, payload))).toBe('nothing')
  for (const { name, payload } of askingEvents('/ask Why?'))
    expect(tell(decideOn(name, { ...payload, action: 'edited' }))).toBe('nothing')
})

describe('questions', () => {
  const asking = askingEvents('/ask Why?')

  test.each(asking.map((one, index) => [`${one.name} ${index}`, one] as const))('%s', (_title, { name, payload }) => {
    const { comment, issue, pull_request: pull, repository } = payload
    expect(readAskEvent(name, payload)).toMatchObject({
      target: { thread: { repository: repository.full_name, number: (issue ?? pull)!.number }, question: comment.id },
      repositoryId: repository.id,
      asker: { id: comment.user.id, login: comment.user.login, type: comment.user.type },
      question: 'Why?',
    })
    expect(tell(decideOn(name, payload))).toBe('answer')
  })

  test('there are some of both kinds, on issues and on pull requests', () => {
    expect(new Set(asking.map(({ name }) => name)).size).toBe(2)
    expect(new Set(asking.map(({ payload }) => payload.issue?.pull_request !== undefined)).size).toBe(2)
  })
})

test('every property that is read of an event is one that GitHub sends', () => {
  const sent = new Map<string, boolean>()
  for (const { name, payload } of all) {
    const { payload: seen, read } = watched(payload)
    decideOn(name, seen)
    for (const [path, there] of read) sent.set(path, there || (sent.get(path) ?? false))
  }
  expect([...sent.keys()]).toEqual(expect.arrayContaining(['pull_request.head.repo.id', 'comment.body', 'before']))
  expect([...sent].filter(([, there]) => !there).map(([path]) => path)).toEqual([])
})
