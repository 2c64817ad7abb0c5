// A job in a queue counts only with the signature of this deployment.
import { expect, test } from 'vitest'
import { parseRepository } from '../../src/handoff/domain/run.js'
import { type AnswerJob, type CommentJob, jobKey, openJob, signJob } from '../../src/service/jobs/job.js'

const job: AnswerJob = {
  kind: 'answer',
  repository: { ...parseRepository('octo/tools', 'github.com'), id: '42' },
  run: `${'a'.repeat(40)}-first`,
  id: 'b'.repeat(32),
  acceptedAt: '2026-11-19T10:00:00.000Z',
  model: 'x',
  caller: 'bearer:team-a',
}
const signed = signJob(job, 'the owner key')

test('a signed job is opened by the key that signed it', () => {
  expect(openJob(JSON.parse(JSON.stringify(signed)), 'the owner key')).toEqual(job)
})

test.each<[string, unknown]>([
  ['nothing', undefined],
  ['null', null],
  ['a null job signed as one', signJob(null as never, 'the owner key')],
  ['text signed as a job', signJob('x' as never, 'the owner key')],
  ['a job without a signature', { job }],
  ['a signature without a job', { signature: signed.signature }],
  ['a null job', { job: null, signature: signed.signature }],
  ['text as a job', { job: 'x', signature: signed.signature }],
  ['an empty signature', { job, signature: '' }],
  ['half a signature', { job, signature: signed.signature.slice(0, 32) }],
  ['a signature of other bytes', { job, signature: 'ab'.repeat(32) }],
  ['a number as signature', { job, signature: 7 }],
  ['another caller’s job', { job: { ...job, caller: 'bearer:team-b' }, signature: signed.signature }],
])('%s is no job', (_what, message) => {
  expect(openJob(message, 'the owner key')).toBeUndefined()
})

test('another deployment’s job is none', () => {
  expect(openJob(signed, 'another key')).toBeUndefined()
})

test('one comment is one message, whatever it asks', () => {
  const thread = { kind: 'issue', repository: 'octo/tools', number: 3 } as const
  const target = { thread, question: 99, askedAt: '2026-11-19T10:00:00Z' }
  const user = { id: 5, login: 'wanda', type: 'User' }
  const { repository, caller } = job
  const comment: CommentJob = { kind: 'comment', repository, target, question: 'Why?', fresh: false, user, caller }
  expect(jobKey(comment)).toBe('comment-42-issue-99')
  expect(jobKey({ ...comment, question: 'How?' })).toBe('comment-42-issue-99')
})

test('one question accepted once is one message; with a comment it is another one', () => {
  const post = { pull: 3 }
  const keys = [job, { ...job, acceptedAt: '2026-11-19T11:00:00.000Z' }, { ...job, post }].map(jobKey)
  expect(new Set(keys).size).toBe(3)
  expect(jobKey({ ...job, caller: 'bearer:team-b' })).toBe(keys[0])
})
