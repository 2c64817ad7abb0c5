// The files for agents: their form is that of llms.txt and of the Open Knowledge Format 0.2, section 11 of its specification, and each claim leads to a source.
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { knowledgeBundle, llmsText } from '../../../../src/handoff/domain/summary/render-context-files.js'
import { type Evidence, headings, type SummaryRecord } from '../../../../src/handoff/domain/summary/summary-record.js'

const commit = 'c'.repeat(40)
const place = (path: string, from: number, to = from): Evidence => ({
  path,
  from,
  to,
  blob: 'b'.repeat(40),
  digest: String(from % 10).repeat(64),
})
const record: SummaryRecord = {
  version: 1,
  commit,
  model: 'gpt: "x" #1',
  prompts: 2,
  inputTokens: 1_000,
  sections: headings.map((heading, index) => ({
    heading,
    statements:
      index === 3
        ? []
        : [
            {
              text: `The tools "refresh": tokens, in part ${index}.`,
              citations: index === 0 ? [] : [place('README.md', 3)],
            },
            { text: 'A token is an hour old.', citations: [place('src/token.ts', 4, 6), place('lib/a b.py', 7)] },
          ],
  })),
  directories: [],
  words: [{ directory: 'src', words: ['token', 'refresh: hour'] }],
}
const files = {
  record,
  target: { place: { host: 'github.com', repository: 'octo/tools' }, commit },
  repository: 'octo/tools',
  sealedAt: '2026-11-19T10:00:00.000Z',
}

test('llms.txt: a title, a quoted sentence, and under each heading nothing but links with a sentence', () => {
  const text = llmsText(files)
  const [title, quoted, words, ...rest] = text.split('\n\n')
  expect(title).toBe('# octo/tools')
  expect(quoted).toBe('> The tools "refresh": tokens, in part 0.')
  expect(words).toContain('Written by the model')
  expect(rest.join('\n').match(/^#{1,6} .*$/gm)).toEqual(headings.slice(0, 3).map((heading) => `## ${heading}`))
  const items = rest
    .join('\n')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('## '))
  expect(items).toHaveLength(5)
  for (const item of items)
    expect(item).toMatch(/^- \[`[^`]+:\d[^`]*`\]\(https:\/\/github\.com\/octo\/tools\/blob\/c{40}\/\S+\): \S/)
})

test('llms.txt: a path with brackets ends no link early', () => {
  const sections = record.sections.map((section) => ({
    ...section,
    statements: [
      { text: 'Intro.', citations: [] },
      { text: 'A page.', citations: [place('app/[id]/page.tsx', 3)] },
    ],
  }))
  const items = llmsText({ ...files, record: { ...record, sections } })
    .split('\n')
    .filter((line) => line.startsWith('- '))
  // The expression of the format's own parser.
  const item = /^-\s*\[([^\]]+)\]\(([^)]+)\)(?::\s*(.*))?$/
  expect(items.map((line) => item.exec(line)?.[3])).toEqual(items.map(() => 'A page.'))
  expect(items.length).toBeGreaterThan(2)
})

const split = (text: string) => {
  const [, head, body] = /^---\n([\s\S]*?)\n---\n([\s\S]*)$/.exec(text)!
  return { head: parse(head!) as Record<string, unknown>, body: body! }
}

test('the bundle: each document has a type, and each footnote a source with the lines', () => {
  const bundle = knowledgeBundle(files)
  expect(bundle.map(({ path }) => path)).toEqual([
    'index.md',
    'what-it-is-and-for-whom.md',
    'how-it-is-built.md',
    'where-to-start-reading.md',
    'directories/lib.md',
    'directories/src.md',
  ])
  for (const { text } of bundle.slice(1)) {
    const { head, body } = split(text)
    expect(head).toMatchObject({
      type: expect.stringMatching(/\S/),
      title: expect.stringMatching(/\S/),
      status: 'draft',
      generated: { by: 'handoff/gpt: "x" #1', at: '2026-11-19T10:00:00.000Z' },
      commit,
    })
    const sources = head['sources'] as { id: string; resource: string; title: string; digest: string }[]
    for (const { resource } of sources) expect(URL.canParse(resource)).toBe(true)
    const used = new Set([...body.matchAll(/\[\^([^\]]+)\](?!:)/g)].map((match) => match[1]))
    const defined = [...body.matchAll(/^\[\^([^\]]+)\]: /gm)].map((match) => match[1])
    expect([...used].sort()).toEqual(sources.map(({ id }) => id).sort())
    expect([...defined].sort()).toEqual(sources.map(({ id }) => id).sort())
  }
  const { head } = split(bundle.at(-1)!.text)
  expect(head).toMatchObject({
    title: 'src/',
    tags: ['token', 'refresh: hour'],
    resource: `https://github.com/octo/tools/tree/${commit}/src`,
  })
})

test('the index names the version of the format and lists each document once, and nothing else', () => {
  const [index, ...others] = knowledgeBundle(files)
  const { head, body } = split(index!.text)
  expect(head).toEqual({ okf_version: '0.2' })
  const lines = body.split('\n').filter((line) => line !== '')
  expect(lines.every((line) => /^# \S/.test(line) || /^\* \[[^\]]+\]\([^)]+\) - \S/.test(line))).toBe(true)
  expect([...body.matchAll(/\]\(([^)]+)\) - /g)].map((match) => match[1])).toEqual(others.map(({ path }) => path))
})

test('a host without known addresses, and two names with one slug, leave no broken document', () => {
  const twins = {
    ...record,
    sections: record.sections.map((section) => ({
      ...section,
      statements: [...section.statements, { text: 'Twins.', citations: [place('SRC/x.ts', 1), place('日本/x.ts', 2)] }],
    })),
  }
  const bundle = knowledgeBundle({
    ...files,
    record: twins,
    target: { place: { host: 'git.example', repository: 'a/b', permalinks: 'none' }, commit },
  })
  expect(new Set(bundle.map(({ path }) => path)).size).toBe(bundle.length)
  for (const { text } of bundle.slice(1)) expect(split(text).head).not.toHaveProperty('resource')
})
