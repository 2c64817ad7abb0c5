// Texts of a model, names of files, repositories and branches, and the service's own problems are untrusted. None of them may become anything
// but words. The browser watches too: the test pages carry a policy under which turning text into markup is an error.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { cleanLine } from '../../src/handoff/domain/markdown/clean-text.js'
import { parseDocument } from '../../src/handoff/domain/markdown/parse-document.js'
import { question, someAnswer, someRun } from './content.js'
import { answered, ask, enter, newest, unfold, useDesk } from './kit.js'
import { problem } from './service.js'

const desk = useDesk()

const attacks = JSON.parse(readFileSync(join(import.meta.dirname, '../corpus/markdown-attacks.json'), 'utf8')) as {
  name: string
  text: string
}[]

/** What the page made of blocks, beyond plain elements: foreign elements, attributes and links. */
const foreign = `(root) => {
  const elements = new Set('p h1 h2 h3 h4 h5 h6 ul ol li blockquote pre code table thead tbody tr th td em strong a span hr div figure figcaption button'.split(' '))
  const attributes = new Set('class href target rel referrerpolicy tabindex role aria-label start scope id type'.split(' '))
  const wrong = []
  for (const node of document.querySelectorAll(root + ' *')) {
    const tell = (what) => wrong.push(what + ' in ' + node.outerHTML.slice(0, 300))
    if (!elements.has(node.localName)) tell('element ' + node.localName)
    for (const { name } of node.attributes) if (!attributes.has(name)) tell('attribute ' + name)
    if (node.localName === 'a' && !/^https:\\/\\/github\\.com\\/octo\\/tools(\\/|$)/.test(node.href)) tell('link ' + node.href)
    if (node.localName === 'a' && node.rel !== 'noopener noreferrer') tell('rel ' + node.rel)
  }
  return wrong
}`

/** Shows the blocks as a run's summary; returns the page. */
async function showBlocks(blocks: unknown[]): Promise<Page> {
  desk.service.script.summaryBlocks = blocks
  return desk.visitRun()
}

const parse = (text: string) => parseDocument(text, { repository: { host: 'github.com', path: 'octo/tools' } })

const foreignIn = (page: Page) => page.evaluate<string[]>(`(${foreign})('#summary')`)

test('every attack of the corpus becomes plain elements and allowed links', async () => {
  const page = await showBlocks(attacks.flatMap(({ text }) => parse(text)))
  expect(await page.locator('#summary *').count()).toBeGreaterThan(attacks.length)
  expect(await foreignIn(page)).toEqual([])
})

test('all other texts made of marks become plain elements too', async () => {
  const mark = fc.constantFrom(
    ...'` `` ``` * ** _ __ ~~ [ ] ( ) ![ ]( < > " | --- # ## - 1. > & \\ : / a b \n \n\n'.split(' '),
    ' ',
    '    ',
    '<img src=x onerror=alert(1)>',
    '[x](javascript:alert(1))',
    '[x](https://github.com/octo/tools/blob/abc/x)',
    '[x](https://github.com/octo/tools-evil/blob/abc/x)',
    'src/a.ts:1-2',
  )
  const texts = fc.sample(fc.array(mark, { maxLength: 40 }), 600).map((words) => words.join(''))
  const page = await showBlocks(texts.flatMap(parse))
  expect(await page.locator('#summary a').count(), 'allowed links are links').toBeGreaterThan(0)
  expect(await foreignIn(page)).toEqual([])
})

test('nodes that no parser makes stay without effect: the page trusts the service with words only', async () => {
  const script = '<img src=x onerror=alert(1)>'
  const text = (words: string) => ({ kind: 'text', text: words })
  const link = (url: unknown) => ({
    kind: 'paragraph',
    content: [{ kind: 'link', url, content: [text('away'), { kind: 'script', text: script }] }],
  })
  const page = await showBlocks([
    { kind: 'script', text: script, content: [text(script)] },
    { kind: 'html', text: script },
    { kind: 'heading', level: 'x onload=alert(2)', content: [text(script)] },
    { kind: 'code', language: '"><script>', text: script },
    { kind: 'list', start: '1" onload="alert(3)', items: [[{ kind: 'img', text: script }]] },
    { kind: 'table', rows: [[[text(script)]], [[{ kind: 'iframe', text: script }]]] },
    { kind: 'paragraph', content: [{ kind: 'citation', label: script }] },
    ...['javascript:alert(4)', 'https://evil.example', 'https://github.com/octo/tools-evil/blob/x', null, 1].map(link),
  ])
  expect(await foreignIn(page)).toEqual([])
  expect(await page.locator('#summary a').count()).toBe(0)
  const shown = await page.locator('#summary').innerText()
  expect(shown.split(script)).toHaveLength(5)
})

test('words are not lost on the way', async () => {
  const texts = [
    '# One *two* `three`\n\n- four\n- five\n  six\n\n> seven\neight',
    '| nine | ten |\n|---|---|\n| eleven | `twelve` |',
    '&amp; *open **marks `here',
    'a * b * c, snake_case_name, 2**3**4, [brackets] and [more](',
    '~~~\ncode\n~~~\n***\n1) first\n2) second\n   - third\n\n     fourth',
  ]
  const page = await showBlocks(texts.map((text) => ({ kind: 'quote', blocks: parse(text) })))
  const letters = (text: string) => text.replace(/[^a-z0-9]/gi, '')
  const shown = await page
    .locator('#summary > blockquote')
    // The name of the language and the button stand above code.
    .evaluateAll((all) => all.map((one) => one.textContent?.replaceAll('Copy', '') ?? ''))
  expect(shown.map(letters)).toEqual(
    texts.map((text) => letters(text.replace('&amp;', '').replace('1) first\n2)', 'first\n'))),
  )
})

const bad = '<img src=x onerror="alert(1)"><script>alert(2)</script><a href="javascript:alert(3)">x</a>'
const turned = 'src/\u202egnp.ts\u2066/<svg onload=alert(4)>.ts'

test('hostile words in every field of every reply stay words', async () => {
  const { script } = desk.service
  script.repositories = [bad, 'octo/tools']
  script.runs = [{ ...someRun(), ref: `refs/heads/${bad}`, model: bad, partial: bad }]
  script.summary = `# ${bad}\n\n## ${bad}\n\n[click](javascript:alert(5)) ![x](https://evil.example/p.png) <https://evil.example>\n\n${turned}:3`
  script.answers = [someAnswer({ question: bad + turned, text: bad + turned, citations: [] })]
  script.handoff = { host: 'github.com', repository: 'octo/tools', model: { name: bad } }
  const citations = [
    { path: turned, from: 1, to: 2, label: `${cleanLine(turned)}:1-2`, url: 'javascript:alert(6)', quote: bad },
    { path: bad, from: 3, to: 3, label: `${bad}:3`, url: 'https://evil.example/octo/tools/blob/x' },
  ]
  script.play = async ({ send }) => {
    send('status', { state: 'step', step: bad, at: 0 })
    send('status', { state: 'sandbox-open', id: bad, template: bad })
    send('status', { state: 'notice', text: bad })
    send('token', { text: bad })
    const text = `${bad} ${turned} [${turned}:1-2] and [${bad}:3]`
    send(
      'answer',
      someAnswer({ text, citations, code: [{ path: turned, from: 1, lines: [bad, bad] }], model: bad, verified: bad }),
    )
  }
  const page = await desk.visit()
  await enter(page)
  await page.getByRole('button', { name: 'octo/tools' }).click()
  await page.locator('.runs a').click()
  await ask(page, bad)
  const answer = await answered(page)
  await unfold(page)
  await answer.locator('.words button').first().click()
  await page.locator('#code').locator('.cited').first().waitFor()
  const found = await page.evaluate<{ foreign: string[]; links: string[]; turned: boolean }>(`({
    foreign: [...document.querySelectorAll('body :is(img, script, svg svg, iframe, object, embed, style, link, base, [onerror], [onload])')].map((node) => node.outerHTML),
    links: [...document.querySelectorAll('a')].map((link) => link.href).filter((href) => !href.startsWith(location.origin) && !href.startsWith('https://github.com/octo/tools/blob/')),
    turned: /[\\u202e\\u2066]/.test(document.body.textContent),
  })`)
  expect(found).toEqual({ foreign: [], links: [], turned: false })
  expect(await answer.getByRole('heading', { level: 3 }).innerText()).toBe(bad)
})

test('a hostile problem and a hostile address are words too', async () => {
  const page = await desk.visit(`/?${new URLSearchParams({ repository: bad, run: bad })}`)
  expect(await page.getByText('This link opens run').innerText()).toContain('<img src=x')
  desk.service.rule({
    path: /api\/runs/,
    fault: {
      kind: 'answer',
      ...problem(500, bad, { detail: bad, next: bad, requestId: bad }),
      body: String(problem(500, bad, { detail: bad, next: bad }).body),
    },
  })
  await enter(page)
  expect(await page.getByRole('alert').innerText()).toContain(bad)
  expect(await page.locator('main img, main script').count()).toBe(0)
})

test('a stream that is not what it should be ends as a problem, not as a broken page', async () => {
  const page = await desk.visitRun()
  for (const body of [
    '',
    'event: answer\ndata: {not json\n\n',
    ': ping\n\n',
    'data: 1\n\n',
    'event: error\ndata: {}\n\n',
    'event: answer\ndata: null\n\n',
  ]) {
    desk.service.rule({
      path: /ask/,
      times: 1,
      fault: { kind: 'answer', status: 200, headers: { 'content-type': 'text/event-stream' }, body },
    })
    await ask(page, question)
    await newest(page).getByRole('alert').waitFor()
    expect(await newest(page).innerText(), body).toMatch(
      /Not answered|The question was not answered|No connection|Something went wrong/,
    )
  }
})

test('boxes and lines of the diagram are words, and links to the repository only', async () => {
  const inside = 'https://github.com/octo/tools/tree/abc/src'
  const name = '<img src=x onerror=alert(1)>/'
  desk.service.script.diagram = {
    nodes: [
      { path: 'src/', files: 2, url: inside },
      { path: name, files: 1, url: 'javascript:alert(1)' },
      { path: 'lib/', files: 1, url: 'https://evil.example/octo/tools/tree/abc' },
    ],
    edges: [
      { from: 0, to: 1, imports: 2, path: 'src/a.ts', line: 3, url: `${inside.replace('tree', 'blob')}/a.ts#L3` },
      // A circle, a line to itself, and a box that is not there.
      { from: 1, to: 0, imports: 1, path: name, line: 1, url: 'data:text/html,x' },
      { from: 2, to: 2, imports: 1, path: 'lib/a.ts', line: 1, url: null },
      { from: 2, to: 9, imports: 1, path: 'lib/a.ts', line: 1, url: null },
    ],
    edgesLeftOut: 0,
  }
  const page = await desk.visitRun()
  expect(await page.locator('.diagram .node text').allTextContents()).toEqual(['src/', name, 'lib/'])
  expect(await page.locator('.diagram .edge').count()).toBe(2)
  expect(
    await page.evaluate(`[...document.querySelectorAll('.diagram a')].map((link) => link.getAttribute('href'))`),
  ).toEqual(['https://github.com/octo/tools/blob/abc/src/a.ts#L3', inside])
  expect(await page.locator('.diagram .edge title').first().textContent()).toBe(
    `src/ imports ${name} in 2 files, for example src/a.ts:3`,
  )
  expect(await page.locator('.diagram img').count()).toBe(0)
})

test('hostile words lead nowhere while they are written, and a long answer leaves time for its reader', async () => {
  const page = await desk.visitRun()
  const { promise: looked, resolve: goOn } = Promise.withResolvers<void>()
  const hostile =
    '<img src=x onerror=alert(1)> [a](javascript:alert(1)) [b](https://evil.example) ![c](https://evil.example/c.png) \u202Eexe.txt [[src/a.ts:1 "<b>"]]\n\n'
  desk.service.script.play = async ({ send, pause }) => {
    send('token', { text: hostile })
    for (let part = 0; part < 60; part++) {
      send('token', { text: `${'**deep** `code` '.repeat(20)}\n\n- [[src/b.ts:${part + 1} "x"]]\n\n` })
      await pause(5)
    }
    await looked
    send('answer', someAnswer())
  }
  await ask(page, question)
  const draft = newest(page).locator('.draft')
  await draft.locator('.unchecked').nth(60).waitFor()
  expect(await draft.locator('a, img, button, script, iframe').count()).toBe(0)
  expect(await draft.locator('> p').first().innerText()).toBe('a b (https://evil.example) c exe.txt 1')
  expect(await draft.innerText()).not.toMatch(/\u202e/)
  goOn()
  await answered(page)
  expect(await newest(page).locator('.draft').count()).toBe(0)
})
