import { expect, test } from 'vitest'
import { isEnglish } from '../../../../src/handoff/domain/answers/question-words.js'

test.each([
  'How is a request retried?',
  'chooseExcerpts',
  'rate limiter token bucket implementation',
  '?',
  '',
  '🦄',
  'src/pool.ts:40 why?',
  'What does the naïve mode do in main()?',
  'TypeError: x is not a function\n    at run (/app/src/pool.ts:40:3)',
])('%j is searched for as it is', (text) => {
  expect(isEnglish(text)).toBe(true)
})

test.each([
  'Wie wird verhindert, dass zwei Antworten gleichzeitig geschrieben werden?',
  'Où sont stockées les sessions ?',
  '¿Cómo se reintenta una petición?',
  'Onde as sessões são guardadas?',
  'как ограничены повторы?',
  '如果沙箱在写入摘要时被杀死，会发生什么？',
  'セッションはどこに保存されますか',
])('%j needs words first', (text) => {
  expect(isEnglish(text)).toBe(false)
})
