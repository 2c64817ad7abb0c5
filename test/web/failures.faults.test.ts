// What the page says when something fails, and what it offers next.
import { expect, test } from 'vitest'
import { question, someAnswer } from './content.js'
import { accessible, answered, ask, enter, linesOf, listenTo, newest, problemIn, useDesk } from './kit.js'
import { answerInSteps, fromStore, problem } from './service.js'

const desk = useDesk()
const path = /^\/api\/ask/
const busy = problem(503, 'No sandbox is free', {
  detail: 'All 20 sandboxes of this account are busy.',
  next: 'Try again in a moment.',
  code: 'sandbox-limit',
  retryAfterSeconds: 1,
})
const answerWith = (reply: ReturnType<typeof problem>) => ({
  kind: 'answer' as const,
  ...reply,
  body: String(reply.body),
})

test('a wrong token is refused with the reason, the next step and the request', async () => {
  const page = await desk.visit()
  await enter(page, 'wrong')
  expect(await linesOf(problemIn(page))).toEqual([
    'Not signed in',
    'The token is not one that this service knows.',
    'Enter a token of this deployment; its operator can give you one.',
    'Request req-401',
  ])
  expect(await page.evaluate('document.activeElement.id')).toBe('token')
})

test('text that cannot be a token is not sent', async () => {
  const page = await desk.visit()
  await enter(page, 'two words…')
  expect(await page.getByRole('alert').innerText()).toContain('That is not a token')
  const asked = desk.service.requests.map(({ path }) => path).filter((path) => path.startsWith('/api/'))
  expect(asked).toEqual(['/api/auth/session'])
})

test('a problem shows title, detail, next step and request, waits as long as asked, and tries again', async () => {
  const page = await desk.visitRun()
  desk.service.rule({ path, times: 1, fault: answerWith(busy) })
  await ask(page, question)
  const shown = problemIn(newest(page))
  expect(await linesOf(shown)).toEqual([
    'No sandbox is free',
    'All 20 sandboxes of this account are busy.',
    'Try again in a moment.',
    'Try again in 1 s',
    'Request req-503',
  ])
  expect(await page.getByLabel('Your question').inputValue(), 'the question is still there').toBe(question)
  await shown.getByRole('button', { name: 'Try again', exact: true }).click()
  await answered(page)
  await expect.poll(() => page.getByRole('alert').count()).toBe(0)
  await expect
    .poll(() => page.locator('#answers > article').count(), { message: 'the second try takes the place of the first' })
    .toBe(1)
})

test('what went wrong is said aloud once: the seconds that are left count beside it', async () => {
  const page = await desk.visitRun()
  desk.service.rule({ path, times: 1, fault: answerWith(busy) })
  await page.clock.install()
  await ask(page, question)
  await problemIn(newest(page)).getByRole('button').waitFor()
  expect(await newest(page).getByRole('alert').getByRole('button').count()).toBe(0)
  await page.evaluate(`(() => {
    window.written = 0
    new MutationObserver((changes) => { window.written += changes.length }).observe(document.querySelector('.problem'), { subtree: true, childList: true, characterData: true })
  })()`)
  await page.clock.runFor(2_000)
  await problemIn(newest(page)).getByRole('button', { name: 'Try again', exact: true }).waitFor()
  expect(await page.evaluate('window.written')).toBe(1)
})

test('an error in the middle of the stream ends the timeline and what was written', async () => {
  const page = await desk.visitRun()
  desk.service.script.play = async ({ send }) => {
    send('status', { state: 'step', step: 'answer', at: 0 })
    send('token', { text: 'The token is' })
    send('error', {
      title: 'The model failed',
      status: 502,
      detail: 'It stopped in the middle.',
      code: 'model',
      requestId: 'req-m',
    })
  }
  await ask(page, question)
  await newest(page).getByRole('alert').waitFor()
  expect(await newest(page).innerText()).toContain('The model failed')
  expect(await newest(page).innerText()).not.toContain('The token is')
  expect(await newest(page).locator('.timeline summary').innerText()).toMatch(/^Not answered after/)
  await accessible(page, 'a question that failed')
})

test('a connection lost on the way: the page looks for the answer and finds it', async () => {
  const page = await desk.visitRun()
  desk.service.script.play = async ({ send, response }) => {
    send('status', { state: 'accepted', id: someAnswer()['id'], run: someAnswer()['run'] })
    send('token', { text: 'The token' })
    await newest(page).locator('.words').getByText('The token').waitFor()
    desk.service.script.answers.unshift(someAnswer())
    response.destroy()
  }
  await ask(page, question)
  await answered(page)
  expect(desk.service.questions).toHaveLength(1)
})

test('a function whose time is over says where the answer will be; a failed one is reported', async () => {
  const page = await desk.visitRun()
  const { id } = someAnswer()
  desk.service.script.play = async ({ send }) => {
    send('status', { state: 'accepted', id })
    send('error', { title: 'Out of time', status: 504, code: 'timeout', self: someAnswer()['self'] })
  }
  desk.service.script.answers = [
    { id, status: 'failed', error: { code: 'model', message: 'The model gave up.', next: 'Ask again.' } },
  ]
  await ask(page, question)
  expect(await linesOf(problemIn(newest(page)))).toEqual([
    'The question was not answered',
    'The model gave up.',
    'Ask again.',
    'Try again',
  ])
})

test('a platform that answers for itself is distinguished from the service', async () => {
  const page = await desk.visitRun()
  desk.service.rule({
    path,
    times: 1,
    fault: {
      kind: 'answer',
      status: 504,
      headers: { 'content-type': 'text/html', 'x-vercel-id': 'fra1::q' },
      body: '<h1>FUNCTION_INVOCATION_TIMEOUT</h1>',
    },
  })
  await ask(page, question)
  expect(await linesOf(problemIn(newest(page)))).toEqual([
    'Out of time',
    'The platform stopped the work because it took too long.',
    'Try again in a moment.',
    'Try again',
    'Request fra1::q',
  ])
})

test('no connection at all', async () => {
  const page = await desk.visitRun()
  desk.service.rule({ path, fault: { kind: 'reset' } })
  await ask(page, question)
  expect(await linesOf(problemIn(newest(page)))).toEqual([
    'No connection',
    'The service could not be reached.',
    'Check whether you are online, then try again.',
    'Try again',
    'Look at earlier questions',
  ])
})

test('stopping ends the request, keeps what was written, and the next question can be asked', async () => {
  const page = await desk.visitRun()
  let left = false
  desk.service.script.play = async ({ send, pause, gone }) => {
    send('token', { text: 'The token is younger' })
    await pause(5_000)
    left = gone()
  }
  await ask(page, question)
  await newest(page).getByText('The token is younger').waitFor()
  await page.getByRole('button', { name: 'Stop' }).click()
  await expect.poll(() => left).toBe(true)
  expect(await newest(page).innerText()).toMatch(/Stopped after[\s\S]*The token is younger/)
  desk.service.script.play = answerInSteps
  await ask(page, question)
  await answered(page)
})

test('one question at a time: meanwhile every button that asks is off, and says so', async () => {
  desk.service.rule({ path, times: 1, fault: answerWith(problem(502, 'No answer')) })
  const page = await desk.visitRun()
  await ask(page, 'Which one fails?')
  await problemIn(newest(page)).waitFor()
  desk.service.script.play = fromStore
  await ask(page, question)
  await newest(page).getByText('Answered before').waitFor()
  const goOn = Promise.withResolvers<void>()
  desk.service.script.play = async ({ send }) => {
    await goOn.promise
    send('answer', someAnswer({ id: 'another' }))
  }
  await ask(page, 'Is this one under way?')
  await newest(page).getByText('Is this one').waitFor()
  const buttons = page.getByRole('button', { name: /^(Ask|Asking|Ask anew|Ask again|Try again)$/ })
  const off = () =>
    buttons.evaluateAll((all) => all.filter((one) => one.getAttribute('aria-disabled') === 'true').length)
  await expect.poll(() => buttons.count()).toBe(3)
  expect(await off()).toBe(3)
  for (const button of await buttons.all()) await button.click({ force: true })
  goOn.resolve()
  await answered(page)
  await expect.poll(off).toBe(0)
  expect(desk.service.questions).toHaveLength(2)
  await page.getByRole('button', { name: 'Try again' }).click()
  await expect.poll(() => desk.service.questions.length).toBe(3)
})

test('a question that is stopped is taken back at the service', async () => {
  const page = await desk.visitRun()
  desk.service.script.play = async ({ send, pause }) => {
    send('status', { state: 'accepted', id: someAnswer()['id'] })
    send('token', { text: 'Some words' })
    await pause(10_000)
  }
  await ask(page, question)
  await newest(page).getByText('Some words').waitFor()
  await page.getByRole('button', { name: 'Stop' }).click()
  const withdrawn = () => desk.service.requests.filter(({ method }) => method === 'DELETE').map(({ path }) => path)
  await expect.poll(withdrawn).toEqual([expect.stringContaining(`/answers/${someAnswer()['id']}?`)])
})

test('the end of a sandbox is unknown when the question was stopped before it was reported', async () => {
  const page = await desk.visitRun()
  desk.service.script.play = async ({ send, pause }) => {
    send('status', { state: 'sandbox-open', id: 'i1', template: 'base' })
    await pause(10_000)
  }
  await ask(page, question)
  await newest(page).locator('.timeline summary').click()
  await newest(page).getByText('template base').waitFor()
  await page.getByRole('button', { name: 'Stop' }).click()
  await newest(page).locator('.timeline summary').click()
  expect(await newest(page).locator('.steps .time').innerText()).toMatch(/^unknown after /)
})

test('a revoked token leads to the token form', async () => {
  const page = await desk.visitRun()
  desk.service.rule({ path, fault: answerWith(problem(401, 'Not signed in')) })
  await ask(page, question)
  await page.getByLabel('Access token').waitFor()
  expect(await page.getByRole('alert').innerText()).toContain('You are not known here any more')
  await expect.poll(() => page.getByText('refreshToken').count()).toBe(0)
})

test('lines that come late, or fail late, are not shown for another citation, of the same file neither', async () => {
  const page = await desk.visitRun()
  await page.getByRole('link', { name: 'Which partners are there?' }).click()
  const sources = newest(page).locator('.words button.place')
  const code = page.locator('#code')
  for (const [from, fault] of [
    [7, { kind: 'delay', milliseconds: 0 }],
    [7, answerWith(problem(502, 'The drive did not answer'))],
  ] as const) {
    const late = new RegExp(`/files.*from=${from}&`)
    desk.service.rule({ path: late, fault: { kind: 'delay', milliseconds: 600 } })
    desk.service.rule({ path: late, fault })
    await sources.nth(0).click()
    await code.getByText('Reading the lines').waitFor()
    await sources.nth(1).click()
    await code.getByText('Lines 8 to 9 at').waitFor()
    await page.waitForTimeout(900)
    expect(await code.innerText()).toContain('Lines 8 to 9 at')
    await page.keyboard.press('Escape')
  }
})

test('a revoked token leads to the token form from the code too', async () => {
  const page = await desk.visitRun()
  await page.getByRole('link', { name: 'Which partners are there?' }).click()
  await newest(page).locator('.sources').waitFor()
  desk.service.rule({ path: /\/files/, fault: answerWith(problem(401, 'Not signed in')) })
  await newest(page).locator('.words button.place').first().click()
  await page.getByLabel('Access token').waitFor()
  expect(await page.locator('#code').isVisible()).toBe(false)
  expect(await problemIn(page).innerText()).toContain('Not signed in')
})

test('a run that is not there says so, and what to do', async () => {
  const page = await desk.visit('/?repository=octo%2Ftools&run=nothing')
  await enter(page)
  expect(await page.getByRole('alert').innerText()).toContain('Summarise the commit first')
  expect(await page.getByLabel('Your question').isVisible()).toBe(false)
  expect(await page.locator('#summary').innerText()).toBe('')
  expect(await page.locator('#run-facts').innerText()).not.toContain('Opening')
})

test('more earlier questions that cannot be read: it says so where they would stand, and tries again', async () => {
  desk.service.script.answers = Array.from({ length: 25 }, () => someAnswer())
  desk.service.rule({ path: /cursor=20/, times: 1, fault: answerWith(problem(502, 'The drive did not answer')) })
  const page = await desk.visitRun()
  await page.getByRole('button', { name: 'More questions' }).press('Enter')
  const shown = problemIn(page.locator('#earlier-list'))
  expect(await linesOf(shown)).toEqual(['The drive did not answer', 'Try again', 'Request req-502'])
  await page.keyboard.press('Enter')
  await expect.poll(() => page.locator('#earlier-list li').count()).toBe(25)
  expect(await shown.count()).toBe(0)
  expect(await page.evaluate('document.activeElement === document.querySelectorAll("#earlier-list a")[20]')).toBe(true)
})

test('nothing yet: a repository without runs, a run without questions', async () => {
  desk.service.script.answers = []
  const page = await desk.visitRun()
  await page.getByText('Yours would be the first question.').waitFor()
  await page.getByRole('button', { name: 'All runs' }).click()
  await page.getByRole('button', { name: 'octo/website' }).click()
  await page.getByText('octo/website has no summary.').waitFor()
  await page.getByRole('button', { name: 'Copy the workflow' }).waitFor()
})

test('leaving while an answer is on its way ends the request, and is not called stopping', async () => {
  const page = await desk.visitRun()
  const said = await listenTo(page)
  let left = false
  desk.service.script.play = async ({ send, pause, gone }) => {
    send('status', { state: 'looking' })
    await pause(5_000)
    left = gone()
  }
  await ask(page, question)
  await newest(page).getByText('Looking up the run').waitFor()
  await page.getByRole('button', { name: 'All runs' }).click()
  await expect.poll(() => left).toBe(true)
  await page.getByRole('link', { name: 'main' }).click()
  await page.waitForTimeout(300)
  expect(await said()).toEqual([])
  await ask(page, question)
  await page.getByRole('button', { name: 'Stop' }).click()
  await expect.poll(said).toEqual(['Stopped.'])
})
