import { readFileSync } from 'node:fs'
import { Parser } from 'commonmark'
import { describe, expect, it } from 'vitest'
import type { CompletedAnswer } from '../../../../src/handoff/domain/answer.js'
import { answerBlocks, answerData } from '../../../../src/handoff/domain/answers/answer-data.js'
import { type AnswerPlace, permalink } from '../../../../src/handoff/domain/answers/permalinks.js'
import { answerFile, answerMarkdown } from '../../../../src/handoff/domain/answers/render-answer.js'
import { fitMarkdown } from '../../../../src/handoff/domain/markdown/fit.js'
import type { RunId } from '../../../../src/handoff/domain/run.js'
import { attacks } from '../markdown/hostile-markdown.js'
import { findings } from '../markdown/markdown-tree.js'

const commit = 'a1b2c3d4e5f6a7b8c9d0a1b2c3d4e5f6a7b8c9d0'
const place: AnswerPlace = { host: 'github.com', repository: 'octo-org/octo-repo' }

const record: CompletedAnswer = {
  version: 1,
  id: '0123456789abcdef0123456789abcdef',
  run: `${commit}-run1` as RunId,
  commit,
  question: 'How is the token refreshed?\nAnd @octocat, when?',
  model: 'gpt-4o',
  acceptedAt: '2026-08-08T10:00:00.000Z',
  completedAt: '2026-08-08T10:00:12.500Z',
  status: 'done',
  text: 'A minute early. [src/token.ts:41-44] Then it is kept. [docs/my notes.md:3] And so on. (unsupported)',
  citations: [
    { path: 'src/token.ts', from: 41, to: 44, quote: 'if (expires)', verified: true },
    { path: 'docs/my notes.md', from: 3, to: 3, verified: true, moved: true },
    { path: 'src/none.ts', from: 1, to: 1, verified: false, problem: 'no-such-path' },
  ],
  unsupported: 1,
  truncated: false,
  unanswered: false,
  excerpts: [{ path: 'src/token.ts', blob: 'b'.repeat(40), from: 1, to: 60, sha256: 'c'.repeat(64) }],
  searched: ['token', 'refresh'],
  rounds: 1,
  usage: { inputTokens: 12_345, outputTokens: 678 },
  cost: { amount: 0.0376, currency: 'USD', source: '2026-08-08' },
  seconds: { find: 1.25, answer: 8.5 },
  sandbox: { id: 'isandbox', template: 'handoff' },
}

/** Our own collapsed part is the only HTML there is. */
const withoutOurs = (markdown: string) => markdown.replace(/<\/?(?:details|summary)>/g, '')

describe('an answer as a comment', () => {
  it('has the question, the answer, its sources, and how it came about', () => {
    expect(
      answerMarkdown(record, place, { form: 'comment', stale: 'The head is now def5678; still valid.' }),
    ).toMatchInlineSnapshot(`
      "> How is the token refreshed?
      > And \`@octocat\`, when?

      A minute early. [\`src/token.ts:41-44\`](https://github.com/octo-org/octo-repo/blob/a1b2c3d4e5f6a7b8c9d0a1b2c3d4e5f6a7b8c9d0/src/token.ts#L41-L44) Then it is kept. [\`docs/my notes.md:3\`](https://github.com/octo-org/octo-repo/blob/a1b2c3d4e5f6a7b8c9d0a1b2c3d4e5f6a7b8c9d0/docs/my%20notes.md?plain=1#L3) And so on. (unsupported)

      **Sources**: 2 of 3 citations verified. One sentence has no source that could be verified; it is marked (unsupported).

      <details>
      <summary>How this was answered</summary>

      | What | Value |
      | --- | --- |
      | Model | \`gpt-4o\` |
      | Tokens | 12,345 in, 678 out |
      | Cost | 0.0376 USD (price: 2026-08-08) |
      | Time | 12.5 s: find 1.3, answer 8.5 |
      | Read | 1 piece of 1 file, in 1 round |
      | Sandbox | \`isandbox\` (template \`handoff\`) |
      | Run | \`a1b2c3d4e5f6a7b8c9d0a1b2c3d4e5f6a7b8c9d0-run1\` |
      | Answer | \`0123456789abcdef0123456789abcdef\` |
      | Reused | no |

      </details>

      Answered at \`a1b2c3d\` of \`octo-org/octo-repo\`. The head is now \`def5678\`; still valid. Written by the model \`gpt-4o\`; every link was checked. Ask again: \`/ask your question\`.
      "
    `)
  })

  it('holds no HTML but the collapsed part, and no active text', () => {
    const comment = answerMarkdown(record, place, { form: 'comment', notes: ['Answered for @octocat from the base.'] })
    expect(comment.match(/<[^>]*>/g)).toEqual(['<details>', '<summary>', '</summary>', '</details>'])
    expect(findings(withoutOurs(comment), 'github.com')).toEqual([])
  })

  it.each(attacks)('lets nothing of a record act: $name', ({ text }) => {
    const hostile: CompletedAnswer = {
      ...record,
      question: text,
      text,
      model: text,
      searched: [text, text],
      looked: { files: 1, unsearched: [text] },
      unanswered: true,
      truncated: true,
      citations: [{ path: text, from: 1, to: 2, quote: text, verified: true }],
      sandbox: { id: text, template: text },
      seconds: { [text]: 1 },
      cost: { amount: 1, currency: 'USD', source: text },
    }
    for (const form of ['comment', 'job-summary', 'file'] as const) {
      const markdown = answerMarkdown(hostile, place, { form, notes: [text], stale: text, reused: true })
      expect(findings(withoutOurs(markdown), 'github.com')).toEqual([])
    }
    for (const bytes of [300, 500, 1_000]) {
      const part = fitMarkdown(answerMarkdown(hostile, place, { form: 'comment' }), bytes)
      expect(findings(withoutOurs(part), 'github.com')).toEqual([])
    }
  })

  it('says that the code does not say, and what was searched', () => {
    const looked = { files: 12, unsearched: ['binary: "a.bin"'] }
    const comment = answerMarkdown({ ...record, unanswered: true, looked, citations: [], text: 'Nothing.' }, place, {
      form: 'comment',
    })
    expect(comment).toContain(
      '**The code does not say.** Searched in 12 files for `token`, `refresh`. Not searched: `binary: "a.bin"`.\n\nNothing.',
    )
    expect(comment).not.toContain('**Sources**')
  })

  it('says nothing of a search where there is an answer', () => {
    expect(JSON.stringify(answerBlocks(record, place))).not.toContain('does not say')
  })

  it('names its verified citations as nodes, and says what was searched', () => {
    const unanswered = { ...record, unanswered: true, text: 'See [src/token.ts:41-44] and [src/none.ts:1].' }
    const text = (words: string) => ({ kind: 'text', text: words })
    expect(answerBlocks(unanswered, place)).toEqual([
      {
        kind: 'paragraph',
        content: [
          { kind: 'strong', content: [text('The code does not say.')] },
          text(' Searched for '),
          { kind: 'code', text: 'token' },
          text(', '),
          { kind: 'code', text: 'refresh' },
          text('.'),
        ],
      },
      {
        kind: 'paragraph',
        content: [text('See '), { kind: 'citation', label: 'src/token.ts:41-44' }, text(' and [src/none.ts:1].')],
      },
    ])
    const labels = answerData(record, place).citations.map(({ label }) => label)
    for (const label of labels)
      expect(JSON.stringify(answerBlocks(record, place))).toContain(JSON.stringify({ kind: 'citation', label }))
  })

  it('says when it was cut, reused, or found under another wording', () => {
    expect(answerMarkdown({ ...record, truncated: true }, place, { form: 'comment' })).toContain(
      'reached its own limit',
    )
    expect(answerMarkdown(record, place, { form: 'comment', reused: true })).toContain(
      '| Reused | yes: answered before, on 2026-08-08 |',
    )
    expect(answerMarkdown({ ...record, reusedFrom: 'f'.repeat(32) }, place, { form: 'comment' })).toContain(
      'whose question is nearly the same',
    )
  })
})

describe('the same answer elsewhere', () => {
  it('is a file without HTML for people who read it as it is', () => {
    const file = answerFile(record, place)
    expect(file).not.toMatch(/<[a-z]/)
    expect(file).toContain('**Sources**: 2 of 3 citations verified.')
    expect(file).toContain('## How this was answered\n\n- Model: `gpt-4o`')
  })

  it('is plain words alone', () => {
    expect(answerMarkdown(record, place, { form: 'plain' })).toBe(`${record.text}\n`)
  })

  it('is data, with the same sources', () => {
    const data = answerData(record, place)
    expect(data.citations).toEqual([
      {
        path: 'src/token.ts',
        from: 41,
        to: 44,
        label: 'src/token.ts:41-44',
        url: `https://github.com/octo-org/octo-repo/blob/${commit}/src/token.ts#L41-L44`,
        quote: 'if (expires)',
      },
      {
        path: 'docs/my notes.md',
        from: 3,
        to: 3,
        label: 'docs/my notes.md:3',
        url: `https://github.com/octo-org/octo-repo/blob/${commit}/docs/my%20notes.md?plain=1#L3`,
        moved: true,
      },
    ])
    expect(data.verified).toBe('2 of 3 citations verified')
    for (const { label, url } of data.citations) {
      expect(data.text).toContain(`[${label}]`)
      expect(linksIn(data.markdown)).toContain(url)
    }
    expect(linksIn(answerMarkdown(record, place, { form: 'job-summary' }))).toEqual([
      ...data.citations.map((one) => one.url),
    ])
  })
})

function linksIn(markdown: string): string[] {
  const links: string[] = []
  const walker = new Parser().parse(markdown).walker()
  for (let event = walker.next(); event; event = walker.next()) {
    if (event.entering && event.node.type === 'link') links.push(event.node.destination!)
  }
  return links
}

describe('permalinks', () => {
  const at = (host: string, path = 'src/a b(1).ts', more: Partial<AnswerPlace> = {}) =>
    permalink({ host, repository: 'o/r', ...more }, commit, { path, from: 10, to: 20 })

  it('look as each host wants them', () => {
    expect(at('github.com')).toBe(`https://github.com/o/r/blob/${commit}/src/a%20b%281%29.ts#L10-L20`)
    expect(at('github.example.org')).toBe(`https://github.example.org/o/r/blob/${commit}/src/a%20b%281%29.ts#L10-L20`)
    expect(at('gitlab.com')).toBe(`https://gitlab.com/o/r/-/blob/${commit}/src/a%20b%281%29.ts#L10-20`)
    expect(at('bitbucket.org')).toBe(`https://bitbucket.org/o/r/src/${commit}/src/a%20b%281%29.ts#lines-10:20`)
    expect(permalink(place, commit, { path: 'a.ts', from: 3, to: 3 })).toMatch(/\/a\.ts#L3$/)
  })

  it('ask for the text of files that are shown as documents', () => {
    expect(at('github.com', 'README.md')).toMatch(/\/README\.md\?plain=1#L10-L20$/)
  })

  it('follow the configured kind of host', () => {
    expect(at('git.example.org')).toBeNull()
    expect(at('git.example.org', 'a.ts', { permalinks: 'github' })).toBe(
      `https://git.example.org/o/r/blob/${commit}/a.ts#L10-L20`,
    )
    expect(at('127.0.0.1:8080', 'a.ts', { permalinks: 'github', serverUrl: 'http://127.0.0.1:8080/' })).toBe(
      `http://127.0.0.1:8080/o/r/blob/${commit}/a.ts#L10-L20`,
    )
  })

  it('are not made for hosts we know nothing of, nor for names that no address can hold', () => {
    for (const host of [
      'localhost:3000',
      '127.0.0.1',
      'git.example.org',
      'evilgithub.com',
      'github.com.evil.example.x',
    ]) {
      expect(at(host) === null || new URL(at(host)!).host === host).toBe(true)
    }
    expect(at('evilgithub.com')).toBeNull()
    expect(at('github.com', 'a\ufffd.ts')).toBeNull()
    expect(at('github.com', 'a\ud800.ts')).toBeNull()
  })

  it('encode every name such that the address says the same', () => {
    const names = JSON.parse(
      readFileSync(new URL('../../../corpus/file-names.json', import.meta.url), 'utf8'),
    ) as string[]
    for (const name of names) {
      const address = at('github.com', name)!
      expect(address).toMatch(/^[\w:/.~%?=#-]+$/)
      const path = new URL(address).pathname.split('/').slice(5).map(decodeURIComponent).join('/')
      expect(path).toBe(name)
    }
  })
})

describe('the fields of an answer as data', () => {
  const after = 'e'.repeat(32)
  const full: CompletedAnswer = {
    ...record,
    depth: 'deep',
    reusedFrom: 'd'.repeat(32),
    thread: after,
    compareWith: { run: `${'9'.repeat(40)}-run1` as RunId, commit: '9'.repeat(40) },
    citations: [{ path: 'a.ts', from: 1, to: 2, verified: true, commit: '9'.repeat(40) }],
  }

  it('are there where the record has them', () => {
    const { depth, cost, reusedFrom, compareWith, after: followed, citations } = answerData(full, place)
    expect({ depth, cost, reusedFrom, compareWith, followed }).toEqual({
      depth: 'deep',
      cost: record.cost,
      reusedFrom: full.reusedFrom,
      compareWith: full.compareWith,
      followed: after,
    })
    expect(citations[0]).toMatchObject({ commit: '9'.repeat(40), url: expect.stringContaining('9'.repeat(40)) })
    expect(citations[0]).not.toHaveProperty('quote')
    expect(answerData(record, place).citations[0]).toMatchObject({ quote: 'if (expires)' })
  })

  it('are absent where it does not', () => {
    const { cost: _cost, ...without } = record
    const fields = Object.keys(answerData(without, place))
    expect(fields).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^(depth|cost|reusedFrom|compareWith|after)$/)]),
    )
    expect(Object.keys(answerData(record, place).citations[0]!)).not.toContain('commit')
  })

  it.each(['', `${after}0`, `0${after}`, 'pull/7'])('the thread %j is no answer that it followed', (thread) => {
    expect(answerData({ ...record, thread }, place)).not.toHaveProperty('after')
  })
})

describe('the words around an answer', () => {
  const shown = (more: Partial<CompletedAnswer>, options: object = {}) =>
    answerMarkdown({ ...record, ...more }, place, { form: 'comment', ...options })

  it.each<[string, Partial<CompletedAnswer>, object, string]>([
    ['the asker', {}, { asker: 'wanda' }, '`wanda` asks:'],
    ['a cut', { truncated: true }, {}, '*The answer ends here because the model reached its own limit.*'],
    ['one searched file', { unanswered: true, looked: { files: 1, unsearched: [] } }, {}, ' Searched in one file for '],
    ['several sentences without a source', { unsupported: 2 }, {}, '2 sentences have no source'],
    [
      'cached tokens',
      { usage: { inputTokens: 5, outputTokens: 6, cachedInputTokens: 4 } },
      {},
      '5 in (4 cached), 6 out |',
    ],
    [
      'estimated tokens',
      { usage: { inputTokens: 5, outputTokens: 6, estimated: true } },
      {},
      '6 out (counted by us) |',
    ],
    ['a large cost', { cost: { amount: 0.1, currency: 'USD', source: 'settings' } }, {}, '| 0.10 USD '],
    ['several rounds', { rounds: 2 }, {}, 'in 2 rounds |'],
    ['no steps', { seconds: {} }, {}, '| Time | 12.5 s |'],
    ['no time', { completedAt: record.acceptedAt, seconds: {} }, {}, '| Time | 0.0 s |'],
    ['a time that cannot be', { completedAt: '2026-08-08T09:00:00.000Z' }, {}, '| Time | find 1.3, answer 8.5 |'],
    ['a time that cannot be read', { completedAt: 'never' }, {}, '| Time | find 1.3, answer 8.5 |'],
    [
      'a comparison',
      { compareWith: { run: 'x' as RunId, commit: '9'.repeat(40) } },
      {},
      'Compared `9999999` with `a1b2c3d`',
    ],
    ['the depth', { depth: 'deep' }, {}, '| Depth | deep |'],
  ])('%s', (_, more, options, words) => {
    expect(shown(more, options)).toContain(words)
  })

  it('leave out what is not there', () => {
    const { cost: _cost, sandbox: _sandbox, ...without } = record
    const comment = answerMarkdown(without, place, { form: 'comment' })
    expect(comment).not.toMatch(
      /asks:|\| Cost \||\| Sandbox \||\| Depth \||The code does not say|ends here|cached|counted by us/,
    )
    expect(shown({ unsupported: 0 })).not.toContain('no source')
    expect(shown({ unanswered: true, searched: [] })).toContain('**The code does not say.**\n')
    expect(shown({ completedAt: 'never', seconds: {} })).not.toContain('| Time |')
    expect(shown({})).not.toMatch(/\n{3}/)
  })

  it('a job summary does not say how to ask again, and a file and a comment do', () => {
    const forms = (['job-summary', 'file', 'comment'] as const).map((form) => shown({}, { form }).includes('Ask again'))
    expect(forms).toEqual([false, true, true])
  })

  it('plain words say that the code does not say, and what was searched, only then', () => {
    expect(shown({ unanswered: true }, { form: 'plain' })).toMatch(
      /^The code does not say\. Searched for token, refresh\.\n\n/,
    )
    expect(shown({}, { form: 'plain' })).toMatch(/^A minute early\./)
  })

  it('a link to the host stays, and one without a host does not', () => {
    const text = 'See [x](https://github.com/octo-org/octo-repo/blob/main/a.ts).'
    expect(shown({ text })).toContain('](https://github.com/octo-org/octo-repo/blob/main/a.ts)')
    expect(
      answerMarkdown({ ...record, text }, { host: 'localhost', repository: 'a/b' }, { form: 'comment' }),
    ).not.toContain('](https://github.com')
  })

  it.each([
    ['beside a sentence', 'See src/token.ts:41: it is set.', [{ path: 'src/token.ts', from: 41, to: 44 }]],
    ['above the answer', 'It is set.', []],
  ])('corrections of a comment begin with their marker, and those of a file do not: %s', (_, text, places) => {
    const corrections = [{ id: 'issue-1', by: 'writer', at: '2026-08-08T10:00:00Z', commit, text, places }]
    expect(shown({}, { corrections })).toContain('<!-- handoff:correction')
    expect(shown({}, { corrections, form: 'file' })).not.toContain('<!-- handoff:correction')
  })
})
