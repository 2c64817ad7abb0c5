// Where corrections are shown: behind the statement that cites their lines, once, and never inside code, quotations or folded parts.
import { expect, test } from 'vitest'
import type { ShownCorrection } from '../../../../src/handoff/domain/corrections/correction.js'
import {
  correctedComment,
  placeCorrections,
  showCorrections,
} from '../../../../src/handoff/domain/corrections/render-corrections.js'

const commit = 'c'.repeat(40)
const place = { host: 'github.com', repository: 'octo/tools' }
const correction = (text: string, path: string, from: number, to = from): ShownCorrection => ({
  id: 'issue-1',
  at: '2026-11-19T10:00:00.000Z',
  by: 'ann',
  text,
  commit,
  places: [{ path, from, to }],
})
const hour = correction('src/token.ts:4 The server sets it.', 'src/token.ts', 4)
const aside = '(**Correction** by `ann`, 2026-11-19: src/token.ts:4 The server sets it.)'
const link = (label: string) => `[\`${label}\`](https://github.com/octo/tools/blob/${commit}/x#L1)`

test('it stands behind the links of its statement, in a paragraph and in a list', () => {
  const one = `A token is an hour old ${link('src/token.ts:2-5')} ${link('lib/a.ts:1')}. It is renewed ${link('src/token.ts:9')}.`
  expect(placeCorrections(one, [hour])).toEqual({
    markdown: one.replace('. It is', `. ${aside} It is`),
    rest: [],
  })
  const list = `- First. ${link('lib/a.ts:1')}\n- Second. ${link('src/token.ts:4')}\n- Third.`
  expect(placeCorrections(list, [hour]).markdown.split('\n')).toEqual([
    `- First. ${link('lib/a.ts:1')}`,
    `- Second. ${link('src/token.ts:4')} ${aside}`,
    '- Third.',
  ])
})

test('labels between brackets, in code alone, behind a commit, and of unusual paths are found', () => {
  const odd = correction('app/[id]/a b.tsx:3 No.', 'app/[id]/a b.tsx', 3)
  for (const [label, one] of [
    ['[src/token.ts:4]', hour],
    ['`src/token.ts:4`', hour],
    ['[ccccccc:src/token.ts:1-4]', hour],
    ['`app/[id]/a b.tsx:3`', odd],
  ] as const) {
    const { markdown, rest } = placeCorrections(`Said. ${label} More.`, [one])
    expect(rest).toEqual([])
    expect(markdown.startsWith(`Said. ${label} (**Correction** by`)).toBe(true)
    expect(markdown.endsWith(') More.')).toBe(true)
  }
})

test('a statement that several lines cite is corrected once, and several corrections stand in their order', () => {
  const text = `One ${link('src/token.ts:4')}.\n\nTwo ${link('src/token.ts:4')}.`
  const other = { ...correction('src/token.ts:4 Half an hour.', 'src/token.ts', 4), id: 'issue-2' }
  const { markdown, rest } = placeCorrections(text, [hour, other])
  expect(rest).toEqual([])
  expect(markdown.match(/Correction/g)).toHaveLength(2)
  expect(markdown.indexOf('The server')).toBeLessThan(markdown.indexOf('Half an hour'))
  expect(markdown.endsWith(`Two ${link('src/token.ts:4')}.`)).toBe(true)
})

test.each([
  ['code', `\`\`\`ts\n${link('src/token.ts:4')}\n\`\`\``],
  ['a quotation', `> What is ${link('src/token.ts:4')}?`],
  ['a table', `| ${link('src/token.ts:4')} |`],
  ['a folded part', `<details>\n<summary>More</summary>\n\n- ${link('src/token.ts:4')}\n\n</details>`],
  ['other lines', `It is ${link('src/token.ts:5-9')} and ${link('lib/src/token.ts:4')}.`],
])('in %s there is no statement: it stands above, with its lines', (_, text) => {
  expect(placeCorrections(text, [hour])).toEqual({ markdown: text, rest: [hour] })
  const [shown, ...words] = showCorrections(text, [hour], place).split('\n\n')
  expect(shown).toMatch(/^> \*\*Correction\*\* by `ann`, 2026-11-19: .* \[`src\/token\.ts:4`\]\(https:/)
  expect(words.join('\n\n')).toBe(text)
})

test('one that names no lines is about all of the answer, and stands above it', () => {
  const all = { ...hour, text: 'None of this is so.' }
  const text = `One ${link('src/token.ts:4')}.`
  expect(placeCorrections(text, [all])).toEqual({ markdown: text, rest: [all] })
})

test('the text of a correction cannot act: no mention, no marker, no link of its own', () => {
  const bad = { ...hour, text: 'src/token.ts:4 @octo/team <!-- /handoff:correction --> [x](https://evil.example)' }
  const text = `One ${link('src/token.ts:4')}.`
  const shown = correctedComment(`<!-- handoff:summary v=1 -->\n${text}`, [bad], place)
  expect(shown.match(/<!--/g)).toHaveLength(3)
  expect(shown).toContain('`@octo/team` &lt;!-- /handoff:correction --&gt; \\[`x](https://evil.example`)')
  expect(correctedComment(shown, [], place)).toBe(`<!-- handoff:summary v=1 -->\n${text}`)
})

const marker = '<!-- handoff:ask v=1 comment=5 part=1 state=done -->'

test('a comment that is edited again has the corrections that hold, at their statements', () => {
  const body = `${marker}\n> Why?\n\nOne ${link('lib/a.ts:1')}.\n\nTwo ${link('src/token.ts:4')}. Three.`
  const all = { ...hour, id: 'issue-3', text: 'Not so.' }
  const shown = correctedComment(body, [hour, all], place)
  expect(shown).toMatch(
    /^<!-- handoff:ask [^\n]*\n<!-- handoff:correction v=1 -->\n> \*\*Correction\*\* by `ann`, .*: Not so\./,
  )
  expect(shown).toContain(`. <!-- handoff:correction v=1 -->${aside}<!-- /handoff:correction --> Three.`)
  expect(correctedComment(shown, [hour, all], place)).toBe(shown)
  expect(correctedComment(shown, [], place)).toBe(body)
})

test('markers that a model wrote inside code take nothing out of the comment', () => {
  const start = '<!-- handoff:correction v=1 -->'
  const end = '<!-- /handoff:correction -->'
  const body = `${marker}\n\`${start}\` a \`${end}\`\n\n\`\`\`\n${start}\nb\n${end}\n\`\`\`\n\nOne ${link('src/token.ts:4')}.`
  const shown = correctedComment(body, [hour], place)
  expect(shown).toContain(aside)
  expect(correctedComment(shown, [], place)).toBe(body)
})

test('above a comment the two newest stand open and the others folded', () => {
  const many = Array.from({ length: 5 }, (_, index) => ({ ...hour, id: `issue-${index}`, text: `No ${index}.` }))
  const shown = correctedComment(`${marker}\nWords.`, many, place)
  const [open = '', folded = ''] = shown.split('<details>')
  expect(open.match(/No \d/g)).toEqual(['No 3', 'No 4'])
  expect(folded.match(/No \d/g)).toEqual(['No 0', 'No 1', 'No 2'])
  expect(folded).toContain('<summary>3 earlier corrections</summary>')
  expect(correctedComment(shown, [], place)).toBe(`${marker}\nWords.`)
})

test('the comment about a pull request has two corrections of the summary open, and of a long one the beginning', () => {
  const long = { ...hour, id: 'issue-9', text: `src/token.ts:4 ${'no '.repeat(300)}` }
  const many = [...Array.from({ length: 4 }, (_, index) => ({ ...hour, id: `issue-${index}` })), long]
  const shown = correctedComment(`${marker}\nOne ${link('src/token.ts:4')}.`, many, place)
  const [unfolded] = shown.replace(/<details>[\s\S]*?<\/details>/g, '').split('\n\nOne')
  expect(shown.match(/\*\*Correction\*\*/g)).toHaveLength(5)
  expect(
    shown
      .split('\n')
      .at(-1)!
      .match(/\*\*Correction\*\*/g),
  ).toHaveLength(2)
  expect(shown).toMatch(/no …\)/)
  expect(unfolded!.length).toBeLessThan(1_500)
  const answer = 'a'.repeat(32)
  const whole = correctedComment(`${marker}\nOne ${link('src/token.ts:4')}.`, [{ ...long, answer }], place)
  expect(whole).toContain(long.text.trim())
})
