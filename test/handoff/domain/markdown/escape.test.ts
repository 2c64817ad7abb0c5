// Words that are not ours, written such that GitHub shows them and does nothing.
import { expect, test } from 'vitest'
import { codeSpan, safeInline, safeText } from '../../../../src/handoff/domain/markdown/escape.js'

test.each<[string, string]>([
  ['plain words', 'plain words'],
  ['hello @octocat', 'hello `@octocat`'],
  ['(see @octocat).', '(see `@octocat`).'],
  ['fixes #12', 'fixes `#12`'],
  ['"https://evil.example"', '"`https://evil.example`"'],
  ['(@', '(@'],
  ['a#b', 'a#b'],
  ['a_b _c_', 'a_b \\_c\\_'],
  ['*bold* [a](b) ~x~ |y| $z$', '\\*bold\\* \\[a\\](b) \\~x\\~ \\|y\\| \\$z\\$'],
  ['<b>&amp;`', '&lt;b&gt;&amp;amp;&#96;'],
  ['x'.repeat(200), 'x'.repeat(200)],
  ['x'.repeat(201), `\`${'x'.repeat(201)}\``],
  ['('.repeat(201), `\`${'('.repeat(201)}\``],
  ['"'.repeat(201), `\`${'"'.repeat(201)}\``],
  ['.'.repeat(201), `\`${'.'.repeat(201)}\``],
  [`(${'x'.repeat(200)})`, `\`(${'x'.repeat(200)})\``],
])('%j is written %j', (text, written) => {
  expect(safeInline(text)).toBe(written)
})

test.each<[string, string]>([
  ['one\n\n\ntwo', 'one\n\ntwo'],
  ['one\n \n\n \ntwo', 'one\n\ntwo'],
  ['\n\none\n\n', 'one'],
  ['\none\n', 'one'],
  ['- item\n+ item\n= line\n/ask\n:word:', '\\- item\n\\+ item\n\\= line\n\\/ask\n\\:word:'],
  ['1. first\n2) second\n3.4 is a number', '1\\. first\n2\\) second\n3.4 is a number'],
  ['  indented  \n   more', 'indented\nmore'],
])('the lines of %j are %j', (text, written) => {
  expect(safeText(text)).toBe(written)
})

test.each<[string, string]>([
  ['a', '`a`'],
  ['', ''],
  ['  ', ''],
  ['`a', '`` `a ``'],
  ['a`', '`` a` ``'],
  ['a`b', '``a`b``'],
  [' a ', '`  a  `'],
  [' a', '` a`'],
  [' a b', '` a b`'],
  ['a ', '`a `'],
])('%j in code is %j', (text, written) => {
  expect(codeSpan(text)).toBe(written)
})
