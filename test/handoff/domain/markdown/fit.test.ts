import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fitMarkdown } from '../../../../src/handoff/domain/markdown/fit.js'
import { safeMarkdown, safeTable } from '../../../../src/handoff/domain/markdown/sanitize.js'
import { hostileMarkdown } from './hostile-markdown.js'
import { codeIn, findings } from './markdown-tree.js'

const runs = process.env['LONG'] ? 10_000 : 200
const host = 'github.com'

describe('a text that is too long', () => {
  it('stays as it is when it fits', () => {
    expect(fitMarkdown('short', 4_000)).toBe('short')
  })

  it('is cut between blocks and says so', () => {
    const text = Array.from({ length: 400 }, (_, index) => `Paragraph ${index} 中中中.`).join('\n\n')
    const cut = fitMarkdown(text, 4_000)
    expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(4_000)
    expect(Buffer.byteLength(cut)).toBeGreaterThan(3_800)
    expect(cut).toMatch(/中\.\n\nThe rest was too long to be shown here\.\n$/)
  })

  it('closes code where it is cut, in a quote and in a list too', () => {
    const lines = Array.from({ length: 40 }, (_, index) => `@octocat/${index} # not a heading`)
    const indented = (by: string) => lines.map((line) => `${by}${line}`).join('\n')
    for (const text of [
      `\`\`\`ts\n${indented('')}\n\`\`\``,
      `~~~~\n\`\`\`\n${indented('')}\n~~~~`,
      `> \`\`\`\n${indented('> ')}\n> \`\`\``,
      `- item\n\n  \`\`\`\n${indented('  ')}\n  \`\`\`\n- next`,
      `- a\n  - b\n    - c\n\n      \`\`\`\n${indented('      ')}\n      \`\`\``,
    ]) {
      const cut = fitMarkdown(safeMarkdown(text), 600)
      expect(findings(cut)).toEqual([])
      expect(codeIn(cut).join('')).toContain(lines[8])
      expect(codeIn(cut).join('')).not.toContain('The rest was')
    }
  })

  it('is cut between the rows of a table and between the items of a list', () => {
    const rows = Array.from({ length: 60 }, (_, index) => [`n${index}`, String(index)])
    const table = fitMarkdown(safeTable([['name', 'number'], ...rows]), 300)
    expect(table).toMatch(/^\| name \| number \|\n\| --- \| --- \|\n(?:\| n\d+ \| \d+ \|\n){10,}\nThe rest/)
    const list = fitMarkdown(rows.map(([name]) => `- ${name}`).join('\n'), 300)
    expect(list).toMatch(/^(?:- n\d+\n){20,}\nThe rest/)
  })

  it('loses a collapsed part as a whole', () => {
    const details = `<details>\n<summary>x</summary>\n\n${'word '.repeat(30)}\n\n${'word '.repeat(30)}\n\n</details>`
    expect(fitMarkdown(`before\n\n${details}\n\nend`, 300)).toMatch(/^before\n\nThe rest/)
  })

  it('is as safe as the whole, whatever it is made of', () => {
    fc.assert(
      fc.property(hostileMarkdown, fc.integer({ min: 100, max: 600 }), (parts, bytes) => {
        const cut = fitMarkdown(safeMarkdown(parts.join('').repeat(4), { host }), bytes)
        expect(findings(cut, host)).toEqual([])
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(bytes)
      }),
      { numRuns: runs },
    )
  })
})
