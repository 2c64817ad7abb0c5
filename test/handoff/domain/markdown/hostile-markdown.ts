// Texts that mean harm, as a list of known attacks and as a generator that puts meaningful pieces together at random.
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { anyText } from '../any-text.js'

export const attacks = JSON.parse(
  readFileSync(new URL('../../../corpus/markdown-attacks.json', import.meta.url), 'utf8'),
) as { name: string; text: string }[]

// biome-ignore format: a table of pieces
const pieces = [
  '@octocat', '#1', 'GH-2', 'o/r#3', 'abcdef1', 'https://evil.example', 'www.x.y', 'a@b.co', '/close', '::error::x', 'fixes ',
  '`', '``', '```', '```js\n', '~~~\n', '*', '**', '***', '_', '__', '[', ']', '](', '(', ')', '![', '<', '>', '</', '/>',
  '<b>', '</b>', '<img src=x>', '<!--', '-->', '<details>', '&', '&#64;', '&#x202e;', '&lt;', '\\', '\\\\', '|', '| a |\n|---|\n',
  '|a|b|\n|-|-|\n', '\n', '\n\n', '\r\n', '\t', ' ', '    ', '- ', '1. ', '2) ', '> ', '# ', '###### ', '---\n', '===\n', '***\n',
  ':', '-', '+', '=', '!', '$', '~', '~~', 'word', 'snake_case', 'é', '中文', '😀', '\u200b', '\u202e', '\u2028', '\ud800', '\u0000',
  '[x]: http://e.v', '[^1]', '[^1]: x\n', '[ ] ', '[x] ', '[a](https://github.com/o/r/blob/a/b)',
]

export const hostileMarkdown = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(...pieces) },
    { weight: 1, arbitrary: fc.constantFrom(...attacks.map((attack) => attack.text)) },
    { weight: 1, arbitrary: anyText(6) },
  ),
  { maxLength: 40, size: 'max' },
)
