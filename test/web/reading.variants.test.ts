// Who reads the page: with the keyboard, with ears, on a phone, in the dark, on paper.
import { readdirSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { howToGet, startBrowser } from './browser.js'
import { earlier, pieces, question, someAnswer, token } from './content.js'
import { answered, ask, enter, listenTo, newest, runAddress, unfold, useDesk } from './kit.js'

const desk = useDesk()

const focused = (page: Page) =>
  page.evaluate<string>(`(() => {
    const { activeElement: node } = document
    return node.id || node.getAttribute('aria-label') || node.textContent.trim()
  })()`)

/** Tab until the focus is there; fails when a round of the page does not come by. */
async function tabTo(page: Page, target: string, key = 'Tab'): Promise<void> {
  for (let presses = 0; presses < 40; presses += 1) {
    await page.keyboard.press(key)
    if ((await focused(page)) === target) return
  }
  throw new Error(`the keyboard does not reach ${target}`)
}

test('the whole story with nothing but the keyboard', async () => {
  const page = await desk.visit()
  await expect.poll(() => focused(page)).toBe('token')
  await page.keyboard.type(token)
  await page.keyboard.press('Enter')
  await expect.poll(() => focused(page)).toBe('choose-title')
  await tabTo(page, 'octo/tools')
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name: 'main' }).waitFor()
  await tabTo(page, 'main')
  await page.keyboard.press('Enter')
  await expect.poll(() => focused(page)).toBe('run-title')
  await page.getByLabel('Your question').waitFor()
  await page.keyboard.press('/')
  expect(await focused(page), 'one key leads to the question').toBe('question')
  await page.keyboard.type(question)
  await page.keyboard.press('Control+Enter')
  await answered(page)
  expect(await focused(page), 'an answer does not take the keyboard away').toBe('question')
  await tabTo(page, 'Source 1, src/token.ts:7', 'Shift+Tab')
  await page.keyboard.press('Enter')
  await page.getByRole('complementary', { name: 'src/token.ts' }).waitFor()
  expect(await focused(page)).toBe('code-title')
  await tabTo(page, 'code-close')
  await page.keyboard.press('Escape')
  await expect.poll(() => page.locator('#code-close').isVisible()).toBe(false)
  expect(await focused(page)).toBe('Source 1, src/token.ts:7')
})

test('the first stop is the way past the head, and stopping by keyboard leaves it at the answer', async () => {
  const page = await desk.visit(runAddress)
  await expect.poll(() => focused(page)).toBe('token')
  for (const _before of ['the name', 'the way past']) await page.keyboard.press('Shift+Tab')
  expect(await focused(page)).toBe('Skip to the content')
  await enter(page)
  await page.getByLabel('Your question').waitFor()
  const { promise: stopHasTheKeyboard, resolve: goOn } = Promise.withResolvers<void>()
  desk.service.script.play = async ({ send }) => {
    send('status', { state: 'waiting', position: 3 })
    await stopHasTheKeyboard
    send('answer', someAnswer())
  }
  await page.getByLabel('Your question').fill(question)
  await tabTo(page, 'ask')
  await page.keyboard.press('Enter')
  await newest(page).getByText('number 3 in line').waitFor()
  expect(await focused(page), 'the button that was pressed keeps the keyboard').toBe('ask')
  await page.getByRole('button', { name: 'Stop' }).focus()
  goOn()
  await answered(page)
  await expect.poll(() => focused(page)).toMatch(/^question-/)
})

test('asking again moves the focus to the answer after a failure, and scrolls to it from far below', async () => {
  desk.service.script.answers = [earlier[1]!]
  desk.service.rule({ path: /^\/api\/ask/, times: 1, fault: { kind: 'answer', status: 502 } })
  const page = await desk.visitRun()
  await ask(page, question)
  await page.getByRole('button', { name: 'Try again' }).press('Enter')
  await answered(page)
  expect(await page.evaluate('document.activeElement.textContent')).toBe(question)
  await page.getByRole('link', { name: 'What happens when the partner' }).press('Enter')
  const again = page.getByRole('button', { name: 'Ask again' })
  await again.waitFor()
  await page.evaluate('scrollTo(0, 0)')
  await again.press('Enter')
  await newest(page).getByText('What happens when the partner does not answer').waitFor()
  await expect
    .poll(() => page.evaluate('document.activeElement.textContent'))
    .toContain('What happens when the partner')
  const top = await newest(page).evaluate((node) => node.getBoundingClientRect().top)
  expect(top).toBeGreaterThanOrEqual(0)
  expect(top).toBeLessThan(150)
})

test('those who listen hear what matters, once', async () => {
  const page = await desk.visitRun()
  const said = await listenTo(page)
  // Of sentences that follow each other at once the page says the last one, so that each event waits until the page has said the one before.
  const spoken = (text: string) => expect.poll(said).toContain(text)
  desk.service.script.play = async ({ send }) => {
    send('status', { state: 'sandbox-open', id: 'i1', template: 'base' })
    await spoken('The sandbox is up.')
    for (const text of pieces) send('token', { text })
    await spoken('The answer is being written.')
    send('status', { state: 'sandbox-gone', id: 'i1' })
    send('answer', someAnswer())
  }
  await ask(page, question)
  await expect.poll(async () => (await said()).at(-1)).toBe('The answer is ready. 3 of 3 citations verified')
  expect(await said()).toEqual([
    'The sandbox is up.',
    'The answer is being written.',
    'The answer is ready. 3 of 3 citations verified',
  ])
})

const views: [string, (page: Page) => Promise<void>][] = [
  ['the token form', async () => {}],
  ['the choice', async (page) => enter(page)],
  [
    'the run',
    async (page) => {
      await page.goto(desk.service.url + runAddress)
      await enter(page)
      await page.getByText('Which partners are there?').waitFor({ state: 'attached' })
    },
  ],
  [
    'an answer',
    async (page) => {
      await ask(page, question)
      await answered(page)
      await unfold(page)
    },
  ],
  [
    'a problem',
    async (page) => {
      desk.service.rule({ path: /ask/, fault: { kind: 'reset' } })
      await ask(page, question)
      await page.getByRole('alert').waitFor()
    },
  ],
  ['the code', async (page) => page.locator('.words button.place').first().click()],
]

/** Names, headings, identifiers: what a screen reader goes by. */
const structure = `(() => {
  const shown = (node) => node.checkVisibility({ visibilityProperty: true })
  const nameOf = (node) => (node.getAttribute('aria-label') ?? (node.labels?.[0] ?? node).textContent).trim()
  const ids = [...document.querySelectorAll('[id]')].map((node) => node.id)
  const levels = [...document.querySelectorAll('main :is(h1, h2, h3, h4, h5, h6)')].filter(shown).map((node) => Number(node.localName[1]))
  return {
    unnamed: [...document.querySelectorAll('button, a, input, textarea, summary, [role=region]')].filter((node) => shown(node) && nameOf(node) === '').map((node) => node.outerHTML),
    twice: ids.filter((id, index) => ids.indexOf(id) !== index),
    first: levels[0],
    jumps: levels.filter((level, index) => index > 0 && level - levels[index - 1] > 1).length,
    landmarks: ['header.bar', 'main', 'footer'].filter((landmark) => !document.querySelector(landmark)),
    lang: document.documentElement.lang,
  }
})()`

test('everything has a name, headings go down step by step, no identifier twice', async () => {
  const page = await desk.visit()
  for (const [name, go] of views) {
    await go(page)
    const found = await page.evaluate(structure)
    expect(found, name).toEqual({ unnamed: [], twice: [], first: 1, jumps: 0, landmarks: [], lang: 'en' })
  }
})

/** Texts whose colour is too near to what they stand on. What is switched off may be pale. */
const pale = `(() => {
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number)
  const light = ([red, green, blue]) => {
    const [r, g, b] = [red, green, blue].map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = numbers(getComputedStyle(at).backgroundColor)
      if (colour.length === 3 || colour[3] === 1) return colour
    }
    return [255, 255, 255]
  }
  const found = []
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement
    if (walker.currentNode.data.trim() === '' || !node.checkVisibility() || node.closest(':disabled, [aria-disabled=true], .unseen, script, noscript')) continue
    const [a, b] = [light(numbers(getComputedStyle(node).color)), light(behind(node))].sort((one, other) => other - one)
    if ((a + 0.05) / (b + 0.05) < 4.5) found.push(walker.currentNode.data.trim().slice(0, 40) + ' ' + ((a + 0.05) / (b + 0.05)).toFixed(2))
  }
  return found
})()`

for (const colorScheme of ['light', 'dark'] as const) {
  test(`every text can be read, on a phone too, ${colorScheme}`, async () => {
    const page = await desk.visit('/', {
      colorScheme,
      viewport: { width: 360, height: 740 },
      hasTouch: true,
      isMobile: true,
    })
    for (const [name, go] of views) {
      await go(page)
      expect(await page.evaluate(pale), name).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth'), `${name}: nothing hangs over the edge`).toBe(
        360,
      )
      const small = `[...document.querySelectorAll('button:not(.place), input, textarea')].filter((node) => node.checkVisibility() && node.type !== 'checkbox' && node.getBoundingClientRect().height < 44).map((node) => node.outerHTML)`
      expect(await page.evaluate(small), `${name}: large enough for a thumb`).toEqual([])
    }
    const background = await page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
    expect(background).toBe(colorScheme === 'light' ? 'rgb(250, 248, 244)' : 'rgb(22, 24, 22)')
  })
}

test('in colours that the reader forces, every bar, the chosen repository and what is switched off can be reported', async () => {
  desk.service.script.play = async ({ send, pause }) => {
    for (const name of ['find', 'answer']) send('status', { state: 'step', step: name, at: 0 })
    send('status', { state: 'step-done', step: 'find', milliseconds: 20, failed: true })
    send('status', { state: 'sandbox-open', id: 'i1', template: 'base' })
    await pause(10_000)
  }
  const page = await desk.visit('/', { forcedColors: 'active' })
  await enter(page)
  await page.getByRole('button', { name: 'octo/tools' }).click()
  const colours = (selector: string, property = 'backgroundColor') =>
    page.evaluate<string[]>(
      `[...document.querySelectorAll('${selector}')].map((node) => getComputedStyle(node).${property})`,
    )
  const [ground] = await colours('body')
  const chips = await colours('.chip')
  expect(new Set(chips).size, 'one of two is chosen').toBe(2)
  expect(await colours('.chip[aria-current]', 'forcedColorAdjust'), 'and its name is not hidden').toEqual(['none'])
  await page.getByRole('link', { name: 'main' }).click()
  const [on] = await colours('#ask', 'color')
  await ask(page, question)
  await unfold(page)
  await newest(page).getByText('template base').waitFor()
  const bars = await colours('.track .span')
  expect(bars).toHaveLength(3)
  expect(bars).not.toContain(ground)
  expect(await colours('#ask', 'color')).not.toEqual([on])
})

test('the times stay in their column, whatever they say', async () => {
  const page = await desk.visitRun()
  await ask(page, question)
  await answered(page)
  await unfold(page)
  const over = await page.evaluate<string[]>(`(() => {
    const times = [...document.querySelectorAll('.steps .time')]
    for (const time of times) time.textContent = 'unknown after 99.9 s'
    return times.filter((time) => time.scrollWidth > time.clientWidth).map((time) => time.scrollWidth + ' > ' + time.clientWidth)
  })()`)
  expect(over).toEqual([])
})

test('nothing moves for those who do not want it', async () => {
  for (const [reducedMotion, moving] of [
    ['reduce', false],
    ['no-preference', true],
  ] as const) {
    const page = await desk.visitRun({ reducedMotion })
    desk.service.script.play = async ({ send, pause }) => {
      send('status', { state: 'step', step: 'find', at: 0 })
      await pause(3_000)
    }
    await ask(page, question)
    await newest(page).locator('[data-state=running]').waitFor({ state: 'attached' })
    await unfold(page)
    expect(await page.evaluate('document.getAnimations().length > 0'), reducedMotion).toBe(moving)
  }
})

test('on paper there is the summary and the answer, and nothing to press', async () => {
  const page = await desk.visitRun()
  await ask(page, question)
  await answered(page)
  await page.emulateMedia({ media: 'print' })
  expect(await page.getByRole('heading', { name: 'What it is and for whom' }).isVisible()).toBe(true)
  expect(await newest(page).locator('.words').isVisible()).toBe(true)
  for (const gone of ['#ask-form', '.bar', '.timeline', '#contents', '#code'])
    expect(await page.locator(gone).first().isVisible()).toBe(false)
})

test('without JavaScript the page says what it needs', async () => {
  const page = await desk.visit('/', { javaScriptEnabled: false })
  expect(await page.locator('noscript').getByRole('link').isVisible()).toBe(true)
  expect(await page.getByLabel('Access token').isVisible(), 'what would not work is not offered').toBe(false)
})

const isLater = (name: string) => /^(?:highlight|parse-document-\w+)\.js$/.test(name)

test('every file of the page is fetched at once; the parser comes with the first question, the colours with the first code', async () => {
  const page = await desk.visit()
  await page.getByLabel('Access token').waitFor()
  const named = await page.evaluate<string[]>(
    "[...document.querySelectorAll('link[rel=stylesheet], link[rel=icon], link[rel=preload], script[src]')].map((one) => one.getAttribute('href') ?? one.getAttribute('src'))",
  )
  const files = readdirSync(desk.service.folder)
  const first = files.filter((name) => !['index.html', 'licenses.txt'].includes(name) && !isLater(name))
  expect(named.toSorted()).toEqual(['/api/auth/session', ...first].toSorted())
  const sessions = desk.service.requests.filter(({ path }) => path === '/api/auth/session')
  expect(sessions, 'what was fetched ahead is what the script reads').toHaveLength(1)
  await enter(page)
  await page.goto(desk.service.url + runAddress)
  await enter(page)
  await ask(page, question)
  await answered(page)
  const fetched = () => desk.service.requests.map(({ path }) => path).filter((path) => !/^\/(?:api\/|\?|$)/.test(path))
  const later = [...new Set(fetched())].map((path) => path.slice(1)).filter((name) => !named.includes(name))
  expect(later.toSorted()).toEqual(readdirSync(desk.service.folder).filter(isLater).toSorted())
  expect(later).toHaveLength(2)
})

test('without a browser the tests say how to get one, and fail where one is required', async () => {
  expect(await startBrowser('', false)).toBeUndefined()
  await expect(startBrowser('', true)).rejects.toThrow(howToGet)
})

test('a directory of the diagram brings the lines from and to it forward', async () => {
  const edge = (from: number, to: number) => ({ from, to, imports: 1, path: 'a.ts', line: 1, url: null })
  desk.service.script.diagram = {
    nodes: ['a/', 'b/', 'c/'].map((path) => ({ path, files: 1, url: 'https://github.com/octo/tools/tree/abc/a' })),
    edges: [edge(0, 1), edge(1, 2), edge(0, 2)],
    edgesLeftOut: 0,
  }
  const page = await desk.visitRun()
  const near = () => page.locator('.diagram .edge.near title').allTextContents()
  const node = (name: string) => page.locator('.diagram .node').filter({ hasText: name })
  expect(await near()).toEqual([])
  await node('c/').hover()
  expect((await near()).map((words) => words.slice(0, 13))).toEqual(['b/ imports c/', 'a/ imports c/'])
  await page.getByLabel('Your question').hover()
  expect(await near()).toEqual([])
  await node('b/').focus()
  expect((await near()).map((words) => words.slice(0, 13))).toEqual(['a/ imports b/', 'b/ imports c/'])
})
