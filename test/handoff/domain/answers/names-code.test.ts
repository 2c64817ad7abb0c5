import { expect, test } from 'vitest'
import { namesCode } from '../../../../src/handoff/domain/answers/question-words.js'

test.each([
  'What does chargeCard return?',
  'Why is `retry` called twice?',
  'What is in src/billing/charge.ts?',
  'Who calls load_config?',
  'Where does "connection refused by peer" come from?',
  'How does HTTPServer stop?',
  'What does --dry-run skip?',
])('%s names code', (question) => expect(namesCode(question)).toBe(true))

test.each(['Where is money taken from people?', 'How are users logged in?', 'What happens after a crash? Is it safe.'])(
  '%s names none',
  (question) => expect(namesCode(question)).toBe(false),
)
