// A conversation on the page: examples, questions that follow, the address of an answer, options, search, feedback, newer runs, and a refused sign-in.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { commit, question, run, someAnswer, someRun } from './content.js'
import { accessible, answered, ask, enter, newest, openOptions, runAddress, useDesk } from './kit.js'
import { inSteps } from './service.js'

const desk = useDesk()
const { id } = someAnswer() as { id: string }
const second = 'd'.repeat(32)

test('examples come from the summary, and one is asked with a click', async () => {
  const page = await desk.visitRun()
  const examples = page.locator('#examples button')
  expect(await examples.allInnerTexts()).toEqual([
    'How does requestToken work, step by step?',
    'What depends on src/token.ts?',
    'What can go wrong in src/partners/request.ts?',
  ])
  await examples.first().click()
  await answered(page)
  expect(desk.service.questions).toEqual([
    { repository: 'octo/tools', run, question: 'How does requestToken work, step by step?' },
  ])
  expect(await page.locator('#examples').isVisible()).toBe(false)
})

test('the next question follows the answer, until the reader begins a new thread', async () => {
  const page = await desk.visitRun()
  await ask(page, question)
  await answered(page)
  expect(new URL(page.url()).searchParams.get('answer')).toBe(id)
  desk.service.script.play = ({ send }, asked) =>
    Promise.resolve(send('answer', someAnswer({ question: asked['question'], id: second })))
  await ask(page, 'And then?')
  await answered(page)
  await expect.poll(() => page.locator('#answers > article').count()).toBe(2)
  expect(desk.service.questions.at(-1)).toMatchObject({ question: 'And then?', after: id })
  expect(new URL(page.url()).searchParams.get('answer')).toBe(second)
  await page.getByRole('button', { name: 'New thread' }).click()
  await expect.poll(() => page.locator('#answers > article').count()).toBe(0)
  expect(await page.locator('#examples').isVisible()).toBe(true)
  await ask(page, 'Something else?')
  await answered(page)
  expect(desk.service.questions.at(-1)).not.toHaveProperty('after')
})

test('a link to an answer opens it with its run, and leads to the answer before it', async () => {
  const { script } = desk.service
  script.answers = [someAnswer({ id: second, question: 'And then?', after: id }), someAnswer()]
  const page = await desk.visit(`${runAddress}&answer=${second}`)
  await enter(page)
  await newest(page).getByRole('heading', { name: 'And then?' }).waitFor()
  await newest(page).locator('.sources').waitFor()
  const place = await newest(page).evaluate((node) => node.getBoundingClientRect().top)
  expect(place, 'it stands at the top of the window').toBeLessThan(200)
  await page.getByRole('link', { name: 'the answer before it' }).click()
  await newest(page).getByRole('heading', { name: question }).waitFor()
  await page.goBack()
  await newest(page).getByRole('heading', { name: 'And then?' }).waitFor()
  await page.goto(`${desk.service.url}${runAddress}&answer=${'9'.repeat(32)}`)
  await enter(page)
  await newest(page).getByText('Not found').waitFor()
})

test('the model, the depth and the run to compare with are options of a question', async () => {
  desk.service.script.models = ['gpt-5.2-mini', 'gpt-5.2']
  const page = await desk.visitRun()
  await page.getByRole('link', { name: 'pull request 12' }).waitFor()
  await openOptions(page)
  await page.getByLabel('Model').selectOption('gpt-5.2')
  await page.getByLabel('Depth').selectOption('deep')
  await page.getByLabel('Compare with').selectOption(String(someRun(1)['run']))
  await ask(page, question)
  await answered(page)
  expect(desk.service.questions).toEqual([
    {
      repository: 'octo/tools',
      run,
      question,
      model: 'gpt-5.2',
      depth: 'deep',
      compareWith: { run: someRun(1)['run'] },
    },
  ])
})

test('earlier questions are searched, those that are not loaded too', async () => {
  desk.service.script.answers = Array.from({ length: 45 }, (_, index) =>
    someAnswer({ id: index.toString(16).padStart(32, '0'), question: `Question ${index + 1}?` }),
  )
  const page = await desk.visitRun()
  await page.getByLabel('Search earlier questions').fill('question 44')
  const shown = page.locator('#earlier-list li:visible')
  await expect.poll(() => shown.count()).toBe(1)
  expect(await shown.innerText()).toContain('Question 44?')
})

test('feedback is sent, and stays pressed', async () => {
  const page = await desk.visitRun()
  await ask(page, question)
  await answered(page)
  await page.getByRole('button', { name: 'Useful', exact: true }).click()
  await page.locator('[aria-pressed=true]').getByText('Useful', { exact: true }).waitFor()
  expect(desk.service.script.feedback).toEqual([{ useful: true }])
})

test('an answer that is opened later shows the word of its reader, and how many found it useful', async () => {
  const feedback = { useful: 3, notUseful: 1, own: false }
  desk.service.script.answers.unshift(someAnswer({ feedback }))
  const page = await desk.visit(`${runAddress}&answer=${id}`)
  await enter(page)
  await newest(page).locator('.sources').waitFor()
  expect(await newest(page).locator('[aria-pressed=true]').allInnerTexts()).toEqual(['Not useful'])
  await newest(page).locator('.how summary').click()
  expect(await newest(page).locator('.how').innerText()).toContain('useful to 3, not useful to 1')
})

test('a newer run of the branch is announced, and opened by its link', async () => {
  const newer = {
    ...someRun(0),
    run: `${'7'.repeat(40)}-1-1`,
    commit: '7'.repeat(40),
    sealedAt: new Date().toISOString(),
  }
  desk.service.script.runs.unshift(newer)
  const page = await desk.visitRun()
  await page.getByText('There is a newer run of main.').waitFor()
  await page.getByRole('link', { name: 'Open commit 7777777' }).click()
  await page.locator('#run-facts').getByText('7777777').waitFor()
  expect(await page.locator('#newer-run').isVisible()).toBe(false)
})

test('an empty service says which workflow to add', async () => {
  desk.service.script.repositories = []
  const page = await desk.visit('/')
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await enter(page)
  await page.getByText('Nothing to ask about yet').waitFor()
  await page.getByRole('button', { name: 'Copy the workflow' }).click()
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  const workflow = readFileSync(join(import.meta.dirname, '../../examples/push-summary.yml'), 'utf8')
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(workflow)
  await accessible(page, 'an empty service')
})

test('signing in that did not succeed says why', async () => {
  desk.service.script.session = { offered: true, signedIn: false }
  const page = await desk.visit('/?repository=octo%2Ftools&signin=denied')
  await page.getByText('You did not allow it').waitFor()
  const link = page.getByRole('link', { name: 'Sign in with GitHub' })
  expect(await link.getAttribute('href')).toBe('/api/auth/login?return=%2F%3Frepository%3Docto%252Ftools')
})

test('on a phone the code and the contents are sheets, which are accessible, and the focus returns', async () => {
  desk.service.script.diagram = { nodes: [{ path: 'src/', files: 2, url: null }], edges: [], edgesLeftOut: 0 }
  const page = await desk.visit(runAddress, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true })
  await enter(page)
  await page.getByLabel('Your question').waitFor()
  await ask(page, question)
  await answered(page)
  const citation = newest(page).locator('.words button').first()
  await citation.click()
  const sheet = page.getByRole('dialog', { name: 'src/token.ts' })
  await sheet.locator('.cited').first().waitFor()
  await accessible(page, 'the code in a sheet')
  await page.keyboard.press('Escape')
  await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
  expect(await citation.evaluate((node) => node.ownerDocument.activeElement === node)).toBe(true)
  await page.getByRole('button', { name: 'Contents' }).click()
  await page.getByRole('button', { name: 'Who imports whom' }).click()
  await page.getByRole('dialog', { name: 'Who imports whom' }).locator('.node').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Contents' }).click()
  await page.getByRole('dialog').getByRole('link', { name: 'Which partners are there?' }).click()
  await newest(page).getByRole('heading', { name: 'Which partners are there?' }).waitFor()
  expect(await page.getByRole('dialog').count()).toBe(0)
})

/** Notes from the next address on what moves; returns how to read the sum, with what moved. */
async function recordShifts(page: Page): Promise<() => Promise<{ sum: number; moved: string }>> {
  await page.addInitScript(`(() => {
    window.shifts = []
    new PerformanceObserver((list) => { for (const entry of list.getEntries()) window.shifts.push([entry.value, ...entry.sources.map(({ node }) => node && (node.id || node.className || node.nodeName))]) }).observe({ type: 'layout-shift', buffered: true })
  })()`)
  return async () => {
    const shifts = await page.evaluate<[number][]>('window.shifts')
    return { sum: shifts.reduce((total, [value]) => total + value, 0), moved: JSON.stringify(shifts) }
  }
}

const views = [
  ['wide', { width: 1440, height: 900 }],
  ['phone', { width: 390, height: 844 }],
] as const

test.each(views)('nothing jumps through a whole answer: %s', async (_name, viewport) => {
  const page = await desk.visit('/', { viewport })
  const shifts = await recordShifts(page)
  await page.goto(desk.service.url + runAddress)
  await enter(page)
  await page.getByLabel('Your question').waitFor()
  desk.service.script.play = (events, asked) => inSteps(events, asked, 0.5)
  await ask(page, question)
  await answered(page)
  await newest(page).locator('.words button').nth(1).hover()
  const { sum, moved } = await shifts()
  expect(sum, moved).toBeLessThanOrEqual(0.02)
})

test.each(views)('nothing jumps when an answer is opened by its address: %s', async (_name, viewport) => {
  desk.service.script.session = { offered: true, signedIn: true, user: { id: 7, login: 'wanda' } }
  desk.service.script.answers.unshift(someAnswer())
  const page = await desk.visit('/', { viewport })
  const shifts = await recordShifts(page)
  // The frame of the run is seen before its words.
  desk.service.rule({ path: /^\/api\/runs\//, fault: { kind: 'delay', milliseconds: 300 } })
  await page.goto(`${desk.service.url}${runAddress}&answer=${id}`)
  await newest(page).locator('.sources').waitFor()
  await page.locator('#earlier-list li').first().waitFor({ state: 'attached' })
  const { sum, moved } = await shifts()
  expect(sum, moved).toBeLessThanOrEqual(0.02)
})

test('the columns stay where they are when the page gets a scroll bar', async () => {
  desk.service.script.session = { offered: true, signedIn: true, user: { id: 7, login: 'wanda' } }
  desk.service.rule({ path: /^\/api\/runs\/[^/?]+\?/, fault: { kind: 'delay', milliseconds: 500 } })
  const page = await desk.visit(runAddress)
  const code = page.locator('#code')
  await code.waitFor()
  const begins = async () => (await code.boundingBox())?.x
  const before = await begins()
  await page.getByRole('heading', { name: 'Where to start reading' }).waitFor()
  expect(await page.evaluate('document.documentElement.scrollHeight > innerHeight')).toBe(true)
  expect(await begins()).toBe(before)
})

test('the number of a citation shows its code to the pointer and to the keyboard, and Escape takes it away', async () => {
  const page = await desk.visitRun()
  await ask(page, question)
  await answered(page)
  const citation = newest(page).getByRole('button', { name: 'Source 2, src/token.ts:8-9' }).first()
  await citation.hover()
  expect(await page.getByRole('tooltip').innerText()).toContain('return pending')
  await page.mouse.move(0, 0)
  await expect.poll(() => page.getByRole('tooltip').count()).toBe(0)
  await citation.press('Shift+Tab')
  await page.keyboard.press('Tab')
  await page.getByRole('tooltip').waitFor()
  await page.keyboard.press('Escape')
  expect(await page.getByRole('tooltip').count()).toBe(0)
})

test('code has its colours, the name of its language, links to its lines, and is copied', async () => {
  const page = await desk.visitRun()
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await ask(page, question)
  await answered(page)
  const code = page.locator('#code')
  await code.locator('.t-keyword').first().waitFor()
  expect(await code.locator('.language').innerText()).toBe('TypeScript')
  expect(await code.locator('.cited .t-keyword').allInnerTexts()).toEqual(['if', 'return'])
  expect(await code.getByRole('link', { name: 'Line 7' }).getAttribute('href')).toBe(
    `https://github.com/octo/tools/blob/${commit}/src/token.ts#L7`,
  )
  await code.getByRole('button', { name: 'Copy lines' }).click()
  await code.getByRole('button', { name: 'Copied' }).waitFor()
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(
    '  if (Date.now() - token.issuedAt < hour) return token',
  )
})
