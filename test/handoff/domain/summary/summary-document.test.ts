import { describe, expect, it } from 'vitest'
import {
  addMissingTopLevel,
  headings,
  parseSections,
  parseSummary,
  removeAddedTopLevel,
  renderSummary,
  type Sections,
  sectionsMarkdown,
} from '../../../../src/handoff/domain/summary/summary-document.js'
import type { SurveyCounts } from '../../../../src/handoff/domain/survey.js'

const [what, how, where, run] = headings

describe('a reply', () => {
  it('with the four headings is read as it is', () => {
    const reply = `## ${what}\n\nA.\n\n## ${how}\n\nB.\n\n### Detail\n\nB2.\n\n## ${where}\n\n1. C\n2. D\n\n## ${run}\n\nE.\n`
    expect(parseSections(reply)).toEqual({
      sections: ['A.', 'B.\n\n### Detail\n\nB2.', '1. C\n2. D', 'E.'],
      missing: [],
      renamed: 0,
    })
  })

  it.each([
    ['# Overview', '# Architecture', '# Where to begin', '# Build, test and run'],
    [
      '## 1. What it is and for whom',
      '## 2. How it is built',
      '## 3. Where to start reading:',
      '## 4. How to build, test and run it, and its risks',
    ],
    [
      '**What it is and for whom**',
      '**How it is built**',
      '**Where to start reading**',
      '**How to build, test and run it, and its risks**',
    ],
    [
      '#### what it is and for whom',
      '#### HOW IT IS BUILT',
      '#### Where to start reading',
      '#### How to build, test and run it, and its risks',
    ],
    ['## Purpose', '## How it works', '## Reading guide', '## Development'],
  ])('with headings like %s is put right', (...titles) => {
    const { sections, missing, renamed } = parseSections(
      titles.map((title, index) => `${title}\n\nText ${index}.`).join('\n\n'),
    )
    expect(sections).toEqual(['Text 0.', 'Text 1.', 'Text 2.', 'Text 3.'])
    expect(missing).toEqual([])
    expect(renamed).toBe(4)
  })

  it('drops text before the first heading, and keeps unrequested headings as part of a section', () => {
    const { sections } = parseSections(
      `Sure, here it is!\n\n## ${how}\n\nB.\n\n## The cache\n\nIt is fast.\n\n# Another title\n\nC.`,
    )
    expect(sections[1]).toBe('B.\n\n### The cache\n\nIt is fast.\n\n### Another title\n\nC.')
    expect(sections.join()).not.toContain('Sure')
  })

  it('says which sections are missing', () => {
    expect(parseSections(`## ${how}\n\nB.\n\n## ${run}\n`).missing).toEqual([0, 2, 3])
  })

  it('puts risks that have a heading of their own with the fourth', () => {
    expect(parseSections(`## ${run}\n\nnpm test\n\n## Risks\n\nMany.`).sections[3]).toBe('npm test\n\nMany.')
  })

  it('without any heading is an account of what the thing is', () => {
    expect(parseSections('It is a thing.\n\nIt does much.').sections).toEqual([
      'It is a thing.\n\nIt does much.',
      '',
      '',
      '',
    ])
  })

  it('in one fence is unwrapped', () => {
    expect(parseSections(`\`\`\`markdown\n## ${what}\n\nA.\n\n## ${how}\n\nB.\n\`\`\``).sections.slice(0, 2)).toEqual([
      'A.',
      'B.',
    ])
  })

  it('cannot make a heading by underlining, nor leave a fence open', () => {
    const { sections } = parseSections(`## ${what}\n\nBig\n===\n\n\`\`\`sh\nnpm ci\n## ${how}\n<img src=x>\n`)
    expect(sections[0]).toBe('Big\n\n```sh\nnpm ci\n```')
    expect(sections[1]).toBe('&lt;img src=x>')
  })
})

describe('directories at the top', () => {
  const sections: Sections = ['It has docs.', 'The code is in src/a.ts:1 and `web/`.', '', '']

  it('that no section names are named at the end of the second', () => {
    expect(addMissingTopLevel(sections, ['src', 'web', 'docs', '.github'])[1]).toBe(
      'The code is in src/a.ts:1 and `web/`.\n\nAlso at the top level: `.github/`, `docs/`.',
    )
  })

  it('are named once however often it is done, and no more when the text names them', () => {
    const once = addMissingTopLevel(sections, ['docs'])
    expect(addMissingTopLevel(once, ['docs'])).toEqual(once)
    expect(addMissingTopLevel(once, [])).toEqual(sections)
    expect(removeAddedTopLevel(once)).toEqual(sections)
  })

  it('with hostile names stay in code spans', () => {
    const [, structure] = addMissingTopLevel(['', 'x', '', ''], ['<b>', 'a`b', 'x\n## y'])
    expect(structure).toContain('`<b>/`')
    expect(structure.split('\n')).toHaveLength(3)
  })
})

describe('the file', () => {
  const counts: SurveyCounts = {
    files: 12,
    bytes: 3_400,
    read: 7,
    cut: 1,
    skipped: 4,
    reasons: { 'lock file': 1, binary: 3, budget: 1 },
    kinds: {},
  }
  const file = {
    sections: ['A.', 'B\n\n---\n\nb.', 'C.', 'D.'] as Sections,
    repository: 'octo/cat',
    commit: 'a'.repeat(40),
    model: 'gpt-4o',
    counts,
    secrets: 2,
    partial: 'a limit was reached.',
  }

  it('has the title, the sections and what was read', () => {
    const text = renderSummary(file)
    expect(text).toMatch(
      new RegExp(`^# octo/cat at a{40}\n\n> Not complete: a limit was reached.\n\n## ${what}\n\nA.\n`),
    )
    expect(text).toContain('| skipped | 4 |')
    expect(text).toContain('Not read whole, and why: 3 binary, 1 budget, 1 lock file.')
    expect(text).toContain('Places that look like credentials, hidden from the model: 2.')
    expect(text.match(/^## .*$/gm)).toEqual(headings.map((heading) => `## ${heading}`))
  })

  it('is the same bytes for the same input, and gives its sections back', () => {
    expect(renderSummary({ ...file, counts: { ...counts, reasons: { budget: 1, 'lock file': 1, binary: 3 } } })).toBe(
      renderSummary(file),
    )
    expect(parseSummary(renderSummary(file))).toEqual(file.sections)
    expect(parseSummary('# Something else\n')).toBeUndefined()
    expect(parseSummary(sectionsMarkdown(file.sections))).toBeUndefined()
  })
})
