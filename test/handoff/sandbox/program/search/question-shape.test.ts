import { expect, test } from 'vitest'
import { shapeOf } from '../../../../../src/handoff/sandbox/program/search/question-shape.js'

test.each([
  ['question', 'How is a request retried?'],
  ['question', 'Explain the pool'],
  ['question', 'プールはいつ閉じられますか？'],
  ['name', 'chargeCard'],
  ['report', 'Pool is not closed after a timeout\n\nI open a pool and wait. What is wrong?'],
  ['report', 'Fix the order of keys in the cache'],
  ['trace', 'It fails\nTraceback (most recent call last):\n  File "a.py", line 3, in run\nKeyError: x'],
  ['trace', 'TypeError: x is undefined\n    at Pool.close (/app/src/pool.ts:80:12)'],
  ['trace', "thread 'main' panicked at src/main.rs:3:5"],
  ['diff', 'diff --git a/a.ts b/a.ts\n@@ -1,2 +1,2 @@\n-a\n+b'],
])('a %s: %j', (shape, text) => expect(shapeOf(text)).toBe(shape))
