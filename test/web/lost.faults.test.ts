// A connection that is lost while a question is being answered: what the page says of it, where it looks, and when it asks again by itself.
import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { question, run, someAnswer } from './content.js'
import { answered, ask, linesOf, listenTo, newest, openOptions, problemIn, recordDrafts, useDesk } from './kit.js'
import { answerInSteps, type Events } from './service.js'

const desk = useDesk()
const { id } = someAnswer() as { id: string }
const status = (state: string, more: Record<string, unknown> = {}) => ['status', { state, ...more }] as const
const lookingForIt = 'The connection was lost; looking for the answer'
const askingAgain = 'The connection was lost; asking again'

/** As far as a sandbox and the first words. */
function begin({ send }: Events, words = 'The token is younger'): void {
  send(...status('looking', { requestId: 'req-lost' }))
  send(...status('accepted', { id, run }))
  send(...status('step', { step: 'open sandbox', at: 0 }))
  send(...status('sandbox-open', { id: 'i7x2k9', template: 'base' }))
  send(...status('step', { step: 'answer', at: 0 }))
  send('token', { text: words })
}

const keepFailure = (code: string, message = 'Stopped while the model was answering.') => {
  desk.service.script.answers = [{ id, status: 'failed', error: { code, message } }]
}

const headline = (page: Page) => newest(page).locator('.timeline .headline')
const words = (page: Page) => newest(page).locator('.words')

/** Each time a question comes, the next of these plays. */
function playInTurn(...plays: ((events: Events, question: Record<string, unknown>) => Promise<void>)[]): void {
  const left = [...plays]
  desk.service.script.play = (events, asked) => left.shift()!(events, asked)
}

async function loseAfterWords(page: Page, events: Events): Promise<void> {
  begin(events)
  await words(page).getByText('The token is younger').waitFor()
  events.response.destroy()
}

test('a question that was given up because the connection was lost is asked again, once, where it stands', async () => {
  const page = await desk.visitRun()
  const said = await listenTo(page)
  const goOn = Promise.withResolvers<void>()
  keepFailure('cancelled')
  playInTurn(
    (events) => loseAfterWords(page, events),
    async (events, asked) => {
      await goOn.promise
      await answerInSteps(events, asked)
    },
  )
  await openOptions(page)
  await page.getByLabel('Answer anew').check()
  await ask(page, question)
  await headline(page).getByText(askingAgain).waitFor()
  expect(await words(page).innerText(), 'what was written stays until there is more').toBe('The token is younger')
  expect(await words(page).getAttribute('aria-busy')).toBe('true')
  const colours = await page.evaluate<string[]>(
    "['.words', 'body'].map((place) => getComputedStyle(document.querySelector(place)).color)",
  )
  expect(new Set(colours).size, 'and is paler than what is known').toBe(2)

  goOn.resolve()
  const answer = await answered(page)
  expect(await page.locator('#answers > article').count()).toBe(1)
  expect(desk.service.questions).toEqual(Array(2).fill({ repository: 'octo/tools', run, question, fresh: true }))
  expect(await words(page).getAttribute('class')).toBe('prose words')
  await expect.poll(async () => (await said()).at(-1)).toBe('The answer is ready. 3 of 3 citations verified')
  expect(await said()).toContain(`${lookingForIt}.`)
  expect(await said()).toContain(`${askingAgain}.`)

  await answer.locator('.timeline summary').click()
  const rows = await answer.locator('.timeline').getByRole('listitem').allInnerTexts()
  expect(rows.filter((row) => row.startsWith('Sandbox')).map((row) => row.split('\n').at(-1))).toEqual([
    expect.stringMatching(/^unknown after /),
    expect.stringMatching(/^gone after /),
  ])
  expect(rows.filter((row) => row.startsWith('Look for the answer'))).toHaveLength(1)
})

test('new words take the place of those that were lost, and the headline goes on saying which try it is', async () => {
  const page = await desk.visitRun()
  keepFailure('timeout', 'Time ran out.')
  playInTurn(
    (events) => loseAfterWords(page, events),
    async (events) => {
      begin(events, 'An hour')
      await words(page).getByText('An hour').waitFor()
      expect(await words(page).innerText()).toBe('An hour')
      expect(await words(page).getAttribute('class')).toBe('prose words')
      expect(await headline(page).innerText()).toBe(`${askingAgain}. Write the answer`)
      events.send('answer', someAnswer())
    },
  )
  await ask(page, question)
  await answered(page)
})

test('words go on where they stopped, however often the connection is lost, and each is shown once', async () => {
  const page = await desk.visitRun()
  const said = await listenTo(page)
  const drafts = await recordDrafts(page)
  const places: (string | undefined)[] = []
  const parts = ['The token ', 'is younger ', 'than an hour.']
  desk.service.script.follow = async (events, since) => {
    places.push(since)
    const next = since === 'c1-10' ? 1 : 2
    events.send('token', { text: parts[next] }, `c1-${parts.slice(0, next + 1).join('').length}`)
    await words(page)
      .getByText(parts.slice(0, next + 1).join(''))
      .waitFor()
    if (next === 2) events.send('answer', { ...someAnswer(), reused: true })
    else events.response.destroy()
  }
  playInTurn(async (events) => {
    events.send(...status('accepted', { id, run }))
    events.send('token', { text: parts[0] }, 'c1-10')
    await words(page).getByText('The token').waitFor()
    events.response.destroy()
  })
  await ask(page, question)
  const answer = await answered(page)
  expect(places).toEqual(['c1-10', 'c1-21'])
  expect(await drafts()).toEqual(['The token', 'The token is younger', 'The token is younger than an hour.'])
  expect(await said()).toContain('The connection is back.')
  await expect.poll(async () => (await said()).at(-1)).toBe('The answer is ready. 3 of 3 citations verified')
  await answer.locator('.timeline summary').click()
  const rows = await answer.locator('.timeline').getByRole('listitem').allInnerTexts()
  expect(rows.map((row) => row.split('\n')[0])).toEqual([
    'Look for the answer',
    'Write the answer',
    'Look for the answer',
    'Write the answer',
  ])
})

test('words of another process replace those that were lost', async () => {
  const page = await desk.visitRun()
  const drafts = await recordDrafts(page)
  desk.service.script.follow = async ({ send }) => {
    send(...status('restarted'))
    send('token', { text: 'An hour' }, 'c2-7')
    await words(page).getByText('An hour').waitFor()
    send('answer', someAnswer())
  }
  playInTurn((events) => loseAfterWords(page, events))
  await ask(page, question)
  await answered(page)
  expect(await drafts()).toEqual(['The token is younger', 'An hour'])
})

test('a question that is stopped while its answer is looked for is taken back', async () => {
  const page = await desk.visitRun()
  let isGone = () => false
  desk.service.script.follow = async (events) => {
    isGone = events.gone
    events.send('token', { text: ' than' }, 'c1-25')
    await events.pause(60_000)
  }
  playInTurn((events) => loseAfterWords(page, events))
  await ask(page, question)
  await words(page).getByText('The token is younger than').waitFor()
  await page.getByRole('button', { name: 'Stop' }).click()
  const takenBack = () => desk.service.requests.filter(({ method, path }) => method === 'DELETE' && path.includes(id))
  await expect.poll(() => takenBack().length).toBe(1)
  await expect.poll(() => isGone()).toBe(true)
})

test('what is given up twice is reported, with what to do and the number to name', async () => {
  const page = await desk.visitRun()
  keepFailure('cancelled')
  playInTurn(...Array(2).fill((events: Events) => loseAfterWords(page, events)))
  await ask(page, question)
  expect(await linesOf(problemIn(newest(page)))).toEqual([
    'The question was not answered',
    'The connection was lost, twice. Stopped while the model was answering.',
    'Check whether your connection is stable, then try again.',
    'Try again',
    'Request req-lost',
  ])
  expect(desk.service.questions).toHaveLength(2)
  expect(await words(page).innerText()).toBe('')
  expect(await words(page).getAttribute('aria-busy')).toBe('false')
  expect(await headline(page).innerText()).toMatch(/^Not answered after/)
})

test('what failed for a reason of its own is not asked again', async () => {
  const page = await desk.visitRun()
  keepFailure('model', 'The model gave up.')
  playInTurn((events) => loseAfterWords(page, events))
  await ask(page, question)
  expect(await newest(page).getByRole('alert').innerText()).toContain('The model gave up.')
  expect(desk.service.questions).toHaveLength(1)
})

test('what is broken off before the question was taken is said as it is, with the number to name', async () => {
  const page = await desk.visitRun()
  playInTurn(async ({ send, response }) => {
    send(...status('looking', { requestId: 'req-early' }))
    send(...status('step', { step: 'look up', at: 0 }))
    await headline(page).getByText('Look up the run').waitFor()
    response.destroy()
  })
  await ask(page, question)
  expect(await linesOf(problemIn(newest(page)))).toEqual([
    'The connection was lost',
    'It ended before the answer arrived.',
    'Check whether you are online, then try again.',
    'Try again',
    'Look at earlier questions',
    'Request req-early',
  ])
})

test('the page says that it looks, no machine counts on, and after two minutes it says that nothing came', async () => {
  const page = await desk.visitRun()
  await page.clock.install()
  playInTurn((events) => loseAfterWords(page, events))
  await ask(page, question)
  await headline(page).getByText(lookingForIt).waitFor()
  expect(await words(page).innerText()).toBe('The token is younger')
  await newest(page).locator('.timeline summary').click()
  const sandbox = newest(page).getByRole('listitem').filter({ hasText: 'template base' })
  const time = await sandbox.locator('.time').innerText()
  expect(time).toMatch(/^unknown after /)
  await page.clock.runFor(10_000)
  expect(await sandbox.locator('.time').innerText(), 'what is not known does not grow').toBe(time)
  expect(await headline(page).innerText()).toBe(lookingForIt)

  await page.clock.fastForward(115_000)
  await newest(page).getByRole('alert').waitFor()
  expect(await linesOf(problemIn(newest(page)))).toEqual([
    'The connection was lost',
    'No answer to this question appeared in the next two minutes.',
    'Check whether you are online, then try again. An answer that comes later is among the earlier ones.',
    'Try again',
    'Look at earlier questions',
    'Request req-lost',
  ])
  expect(await words(page).innerText()).toBe('')
  expect(desk.service.questions).toHaveLength(1)
})

test('a reader whose answer may still come is led to the earlier answers, which are read again each time', async () => {
  desk.service.script.answers = []
  desk.service.rule({ path: /^\/api\/ask/, fault: { kind: 'reset' } })
  const page = await desk.visitRun()
  await ask(page, question)
  const look = newest(page).getByRole('button', { name: 'Look at earlier questions' })
  await look.press('Enter')
  await page.getByText('None yet. Yours would be the first question.').waitFor()
  expect(await page.evaluate('document.activeElement.id')).toBe('earlier-title')
  desk.service.script.answers = [someAnswer()]
  await look.click()
  await page.getByRole('link', { name: question }).click()
  await newest(page).locator('.sources').waitFor()
})

test('who is silent for half a minute is gone: a ping is enough to be there', async () => {
  const page = await desk.visitRun()
  await page.clock.install()
  const pings: (() => void)[] = []
  let left = false
  playInTurn(async (events) => {
    begin(events)
    pings.push(() => events.response.write(': ping\n\n'))
    await events.pause(60_000)
    left = events.gone()
  })
  desk.service.script.answers = []
  await ask(page, question)
  await words(page).getByText('The token is younger').waitFor()
  for (let times = 0; times < 2; times += 1) {
    await page.clock.fastForward(25_000)
    pings[0]!()
    await page.waitForTimeout(200)
  }
  expect(await headline(page).innerText()).toBe('Write the answer')
  await page.clock.fastForward(31_000)
  await headline(page).getByText(lookingForIt).waitFor()
  await expect.poll(() => left, { message: 'the dead connection is let go of' }).toBe(true)
  desk.service.script.answers = [someAnswer()]
  await page.clock.runFor(5_000)
  await answered(page)
})

test('a request into a dead connection is given up after half a minute too, whether it asks or reads', async () => {
  const page = await desk.visitRun()
  await page.getByText('Which partners are there?').waitFor()
  await page.clock.install()
  desk.service.rule({ path: /^\/api\/(ask|runs\?)/, times: 2, fault: { kind: 'hang' } })
  const givenUp = async (shown: Locator) => {
    await page.clock.fastForward(29_000)
    expect(await shown.count()).toBe(0)
    await page.clock.fastForward(2_000)
    expect((await linesOf(shown)).slice(0, 2)).toEqual(['No connection', 'The service could not be reached.'])
  }
  const asked = () => desk.service.requests.filter(({ path }) => path === '/api/ask').length
  const before = asked()
  await ask(page, question)
  await expect.poll(asked).toBe(before + 1)
  await givenUp(problemIn(newest(page)))
  await page.getByRole('button', { name: 'All runs' }).click()
  await page.getByText('Reading the runs').waitFor()
  await givenUp(problemIn(page.locator('#choose')))
  await problemIn(page.locator('#choose')).getByRole('button', { name: 'Try again' }).click()
  await page.getByRole('link', { name: 'main' }).waitFor()
})
