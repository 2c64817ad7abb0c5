// A question on a pull request, from the built dist: who is answered, and with what.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { StoredComment } from '../../src/emulators/github/state.js'
import { tokenFiles } from '../support/token-files.js'
import { type ActionStack, startActionStack } from './kit.js'
import { watchStory } from './story.js'

let stack: ActionStack

beforeAll(async () => {
  stack = await startActionStack({
    repeated: { searchFor: 'What is `hour` in refreshToken?' },
    files: tokenFiles,
    refs: { 'refs/pull/7/head': 0 },
  })
  const { head } = stack.repository
  stack.github.addPull(stack.onGitHub, {
    number: 7,
    head: { ref: 'topic', sha: head },
    base: { ref: 'main', sha: head },
  })
  expect((await stack.step({ event: stack.pull(7, head) })).errors).toEqual([])
})
afterAll(() => stack?.close())

const asked = (comment: StoredComment) =>
  stack.step({ event: { ...stack.github.eventOf(comment), sha: stack.repository.head } })
const say = (login: string, body: string) => stack.github.addComment(stack.onGitHub, 7, login, body)
const answersTo = (comment: StoredComment) =>
  stack.github.comments.filter((one) => one.body.startsWith(`<!-- handoff:ask v=1 comment=${comment.id} `))
const reactions = (comment: StoredComment) => stack.github.reactionsOf(comment)
const machines = () => stack.clouds.sandboxes.sandboxes.length

test('a writer is answered in one comment, with links to checked lines; a repeated question needs no sandbox', async () => {
  const question = say('writer', '/ask How is the token refreshed?')
  const story = watchStory(stack)
  const step = await asked(question)
  expect(story(step)).toMatchSnapshot()
  const [comment, ...others] = answersTo(question)
  expect(others).toEqual([])
  expect(comment!.body).toMatch(
    /^<!-- handoff:ask v=1 comment=\d+ part=1 state=done run=[0-9a-z-]+ id=[0-9a-f]+ -->\n`writer` asks:\n\n> How is the token refreshed\?\n/,
  )
  expect(comment!.body).toContain(`](${stack.remote.url}/octo/tools/blob/${stack.repository.head}/src/token.ts#L`)
  expect(comment!.body).toContain('<details>\n<summary>How this was answered</summary>')
  expect(reactions(question)).toEqual(['github-actions[bot]:rocket'])
  for (const row of ['| Model |', '| Tokens |', '| Time |', '| Sandbox |', '| Run |', '| Reused | no |'])
    expect(comment!.body).toContain(row)
  const citations = JSON.parse(step.outputs['citations']!) as { path: string; url: string }[]
  expect(citations).toContainEqual(
    expect.objectContaining({ path: 'src/token.ts', url: expect.stringContaining(`/blob/${stack.repository.head}/`) }),
  )

  const before = machines()
  const repeated = say('writer', '/ask how is the token refreshed')
  expect((await asked(repeated)).outputs['reused']).toBe('true')
  expect(machines()).toBe(before)
  const [again] = answersTo(repeated)
  expect(again!.body).toContain('| Reused | yes')
  expect(again!.history, 'GitHub mails the first version: it is the answer, and says who asked').toHaveLength(1)
  expect(again!.body).toContain('`writer` asks:\n\n> How is the token refreshed?\n')
})

test('a stranger gets a reaction and no answer, and no cloud is reached', async () => {
  const question = say('stranger', '/ask Where are the keys?')
  const story = watchStory(stack)
  const step = await asked(question)
  expect(story(step)).toMatchSnapshot()
  expect(answersTo(question)).toEqual([])
  expect(reactions(question)).toEqual(['github-actions[bot]:confused'])
})

test('mode ask puts the answer into outputs and writes no comment', async () => {
  const before = stack.github.comments.length
  const step = await stack.step({
    event: { name: 'workflow_dispatch', payload: {}, sha: stack.repository.head },
    inputs: { mode: 'ask', question: 'How is the token refreshed by hand?' },
  })
  expect(step.errors).toEqual([])
  expect(step.outputs['answer']).toContain('refreshToken')
  expect(step.outputs['answer-id']).toMatch(/^[0-9a-f]{32}$/)
  expect(step.summary).toContain('> How is the token refreshed by hand?')
  expect(stack.github.comments.length).toBe(before)
})
