// Texts of a model, names of files, repositories and branches, and even the service's own problems are somebody else's words. None of them may
// become anything but words. The browser watches too: the test pages carry a policy under which turning text into markup is an error.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { question, someAnswer, someRun } from './content.js'
import { answered, ask, enter, newest, unfold, useDesk } from './kit.js'
import { problem } from './service.js'

const desk = useDesk()

const attacks = JSON.parse(readFileSync(join(import.meta.dirname, '../corpus/markdown-attacks.json'), 'utf8')) as {
  name: string
  text: string
}[]

/** Renders each text in the page and tells what came out beyond plain elements: foreign elements, attributes, links; and lost words. */
const renderAll = `async (texts) => {
  const { markdown } = await import('/render-markdown.js')
  const { linksOf } = await import('/links.js')
  const { link } = linksOf({ host: 'github.com', repository: 'o/r', commit: 'abc' })
  const elements = new Set('p h1 h2 h3 h4 h5 h6 ul ol li blockquote pre code table thead tbody tr th td em strong del a span hr div'.split(' '))
  const attributes = new Set('class href target rel referrerpolicy tabindex role aria-label start scope'.split(' '))
  const wrong = []
  for (const text of texts) {
    const made = markdown(text, { shift: 3, link })
    for (const node of made.querySelectorAll('*')) {
      if (!elements.has(node.localName)) wrong.push([text, 'element ' + node.localName])
      for (const { name } of node.attributes) if (!attributes.has(name)) wrong.push([text, 'attribute ' + name])
      if (node.localName === 'a' && !/^https:\\/\\/github\\.com\\/o\\/r(\\/|$)/.test(node.href)) wrong.push([text, 'link ' + node.href])
      if (node.localName === 'a' && node.rel !== 'noopener noreferrer') wrong.push([text, 'rel ' + node.rel])
    }
  }
  return wrong
}`

const render = (texts: string[]) =>
  desk.visit().then((page) => page.evaluate(`(${renderAll})(${JSON.stringify(texts)})`))

test('every attack of the corpus becomes plain elements and allowed links', async () => {
  expect(await render(attacks.map(({ text }) => text))).toEqual([])
})

test('so does whatever else is made of marks', async () => {
  const mark = fc.constantFrom(
    ...'` `` ``` * ** _ __ ~~ [ ] ( ) ![ ]( < > " | --- # ## - 1. > & \\ : / a b \n \n\n'.split(' '),
    ' ',
    '    ',
    '<img src=x onerror=alert(1)>',
    '[x](javascript:alert(1))',
    '[x](https://github.com/o/r/blob/abc/x)',
    '[x](https://github.com/o/r-evil/blob/abc/x)',
    'src/a.ts:1-2',
  )
  const texts = fc.sample(fc.array(mark, { maxLength: 40 }), 600).map((words) => words.join(''))
  expect(await render(texts)).toEqual([])
})

test('words are not lost on the way', async () => {
  const page = await desk.visit()
  const lost = await page.evaluate(`(async (texts) => {
    const { markdown } = await import('/render-markdown.js')
    const letters = (text) => text.replace(/[^a-z]/gi, '')
    return texts.filter((text) => letters(markdown(text).textContent) !== letters(text))
  })(${JSON.stringify([
    '# One *two* `three`\n\n- four\n- five\n  six\n\n> seven\neight',
    '| nine | ten |\n|---|---|\n| eleven | `twelve` |',
    '<b>not bold</b> <!-- not hidden --> &amp; *open **marks `here',
    'a * b * c, snake_case_name, 2**3**4, [brackets] and [more](',
    '~~~\ncode\n~~~\n***\n1) first\n2) second\n   - third\n\n     fourth',
  ])})`)
  expect(lost).toEqual([])
})

test('a quarter of a megabyte of marks is drawn in a moment: nothing in it makes the work grow by its square', async () => {
  const page = await desk.visit()
  const times = await page.evaluate<[string, number][]>(`(async () => {
    const { markdown } = await import('/render-markdown.js')
    const options = { places: new Map([['a:1', () => document.createElement('i')]]), pending: () => document.createElement('i'), mention: () => undefined, link: () => undefined }
    return ['*', '_', '~', '[', '![', '[a](', '\`', '\`a', '\`\`a\`', '> ', '- ', '  - a\\n', '|', '| a |\\n|-|\\n', '# # ', 'a.b/', 'a:1', '**a', '*a **b ', '<', '\\\\', '1. ', 'a*', '[[', '\\n>'].map((mark) => {
      const text = mark.repeat(250_000 / mark.length)
      const began = performance.now()
      markdown(text, options)
      return [mark, performance.now() - began]
    })
  })()`)
  expect(times.filter(([, time]) => time > 5_000)).toEqual([])
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
    { path: turned, from: 1, to: 2, label: `${turned}:1-2`, url: 'javascript:alert(6)', quote: bad },
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
  await page.getByRole('dialog').locator('.cited').first().waitFor()
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

test('events are read whatever the pieces they come in', async () => {
  const page = await desk.visit()
  const text =
    ': ping\r\n\r\nid: 1\r\nevent: token\r\ndata: {"text":"é🙂"}\r\n\r\nevent:answer\ndata: {\ndata: "a":1}\n\nretry: 5\n\ndata: cut'
  const read = await page.evaluate(`(async (text) => {
    const { readEvents } = await import('/event-source.js')
    const bytes = new TextEncoder().encode(text)
    const found = []
    for (const size of [1, 2, 3, 7, bytes.length]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => bytes.slice(index * size, (index + 1) * size))
      const events = []
      for await (const event of readEvents(new ReadableStream({ start: (stream) => { for (const piece of pieces) stream.enqueue(piece); stream.close() } }))) events.push(event)
      found.push(JSON.stringify(events))
    }
    return [...new Set(found)]
  })(${JSON.stringify(text)})`)
  expect(read).toEqual([
    JSON.stringify([
      ['token', { text: 'é🙂' }],
      ['answer', { a: 1 }],
    ]),
  ])
})
