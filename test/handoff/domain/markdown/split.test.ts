import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fitMarkdown } from '../../../../src/handoff/domain/markdown/fit.js'
import { safeMarkdown, safeTable } from '../../../../src/handoff/domain/markdown/sanitize.js'
import { splitComment } from '../../../../src/handoff/domain/markdown/split.js'
import { hostileMarkdown } from './hostile-markdown.js'
import { codeIn, findings, wordsIn } from './markdown-tree.js'

const runs = process.env['LONG'] ? 10_000 : 200
const host = 'github.com'

const letters = (text: string) => text.replace(/\s/g, '')

describe('a comment that is too long', () => {
  it('stays one part when it fits', () => {
    expect(splitComment('a\n\nb')).toEqual(['a\n\nb'])
    expect(splitComment('')).toEqual([''])
  })

  it('is cut between blocks', () => {
    const blocks = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(140))
    expect(splitComment(blocks.join('\n\n'), 300)).toEqual([
      `${blocks[0]}\n\n${blocks[1]}`,
      `${blocks[2]}\n\n${blocks[3]}`,
    ])
  })

  it('closes code where it is cut and opens it again', () => {
    const code = Array.from({ length: 40 }, (_, index) => `const value${index} = ${index}`).join('\n')
    const parts = splitComment(`before\n\n\`\`\`ts\n${code}\n\`\`\`\n\nafter`, 300)
    expect(parts.length).toBeGreaterThan(2)
    expect(parts.every((part) => part.length <= 300)).toBe(true)
    expect(parts[1]).toMatch(/^```ts\n[\s\S]*\n```$/)
    expect(parts.flatMap(codeIn).join('')).toBe(`${code}\n`)
  })

  it('keeps a fence with a fence inside apart from it', () => {
    const code = Array.from({ length: 30 }, (_, index) => (index % 3 === 0 ? '```js' : `line ${index}`)).join('\n')
    const parts = splitComment(`\`\`\`\`md\n${code}\n\`\`\`\``, 300)
    expect(parts.flatMap(codeIn).join('')).toBe(`${code}\n`)
  })

  it('keeps code in a quote and in a list what it is', () => {
    const lines = Array.from({ length: 40 }, (_, index) => `@octocat/${index} # not a heading`)
    for (const text of [
      `${lines
        .map((line) => `> ${line}`)
        .join('\n')
        .replace('> ', '> ```\n> ')}\n> \`\`\``,
      `- item\n\n  \`\`\`\n${lines.map((line) => `  ${line}`).join('\n')}\n  \`\`\`\n- next`,
      `- a\n  - b\n    - c\n\n      \`\`\`\n${lines.map((line) => `      ${line}`).join('\n')}\n      \`\`\``,
    ]) {
      const parts = splitComment(safeMarkdown(text), 300)
      expect(parts.length).toBeGreaterThan(2)
      expect(parts.flatMap((part) => findings(part))).toEqual([])
      expect(letters(parts.flatMap(codeIn).join(''))).toContain(letters(lines.slice(5, 9).join('\n')))
    }
  })

  it('gives every part of a table its head', () => {
    const table = safeTable([
      ['name', 'number'],
      ...Array.from({ length: 60 }, (_, index) => [`n${index}`, String(index)]),
    ])
    const parts = splitComment(table, 300)
    expect(parts.every((part) => part.startsWith('| name | number |\n| --- | --- |\n'))).toBe(true)
    expect(parts.join('\n').match(/^\| n\d+ /gm)).toHaveLength(60)
  })

  it('keeps a collapsed part in one piece', () => {
    const details = `<details>\n<summary>x</summary>\n\n${'word '.repeat(30)}\n\n</details>`
    const parts = splitComment(`${'word '.repeat(30)}\n\n${details}\n\nend`, 300)
    expect(parts[1]).toContain(details)
  })

  it('cuts a line between its words, and code in it only into code', () => {
    const line = Array.from({ length: 80 }, (_, index) =>
      index % 5 === 0 ? `\`@octocat#${index}\`` : `word${index}`,
    ).join(' ')
    const parts = splitComment(line, 300)
    expect(parts.every((part) => part.length <= 300)).toBe(true)
    expect(parts.flatMap((part) => findings(part))).toEqual([])
    expect(parts.join(' ')).toBe(line)
    const code = splitComment(safeMarkdown(`\`${'@octocat '.repeat(200)}\``), 300)
    expect(code.flatMap((part) => findings(part))).toEqual([])
    expect(letters(code.flatMap(codeIn).join(''))).toBe(letters('@octocat '.repeat(200)))
  })

  it('never cuts a character in two', () => {
    for (const text of ['😀'.repeat(400), `\`\`\`\n${'😀'.repeat(400)}\n\`\`\``, `\`${'😀'.repeat(400)}\``]) {
      const parts = splitComment(text, 301)
      expect(parts.every((part) => part.isWellFormed() && part.length <= 301)).toBe(true)
      expect(parts.join('').match(/😀/gu)).toHaveLength(400)
    }
  })

  it('leaves every part as safe as the whole, and loses no word, whatever it is made of', () => {
    fc.assert(
      fc.property(hostileMarkdown, fc.integer({ min: 300, max: 600 }), (parts, limit) => {
        const whole = safeMarkdown(parts.join('').repeat(4), { host })
        const split = splitComment(whole, limit)
        expect(split.flatMap((part) => findings(part, host))).toEqual([])
        expect(split.filter((part) => part.length > limit)).toEqual([])
        const kept = split
          .map(wordsIn)
          .join('')
          .replace(/[^\p{L}]/gu, '')
        expect(kept.length).toBeGreaterThanOrEqual(wordsIn(whole).replace(/[^\p{L}]/gu, '').length)
      }),
      { numRuns: runs },
    )
  })
})

describe('a job summary that is too long', () => {
  it('is cut between blocks and says so', () => {
    const text = Array.from({ length: 400 }, (_, index) => `Paragraph ${index} 中中中.`).join('\n\n')
    const cut = fitMarkdown(text, 4_000)
    expect(new TextEncoder().encode(cut).length).toBeLessThanOrEqual(4_000)
    expect(cut.length).toBeGreaterThan(1_500)
    expect(cut).toMatch(/The rest was too long to be shown here\.\n$/)
    expect(fitMarkdown('short', 4_000)).toBe('short')
  })
})
