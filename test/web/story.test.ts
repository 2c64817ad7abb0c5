// The page's story: give the token, choose a run, read, ask, watch, follow a citation, ask again.
import { expect, test } from 'vitest'
import { commit, pieces, question, run, someAnswer, token } from './content.js'
import { answered, ask, enter, newest, openOptions, recordDrafts, runAddress, useDesk } from './kit.js'
import { fromStore } from './service.js'

const desk = useDesk()

test('from the token to an answer, its code, and the same answer again', async () => {
  const { service } = desk
  const page = await desk.visit()
  await enter(page)
  await page.getByRole('button', { name: 'octo/tools' }).click()
  await page.getByRole('link', { name: 'main' }).click()
  await page.getByRole('heading', { name: 'Where to start reading' }).waitFor()
  expect(new URL(page.url()).search).toBe(runAddress.slice(1))

  await ask(page, question)
  const answer = await answered(page)
  expect(service.questions).toEqual([{ repository: 'octo/tools', run, question }])
  expect(await answer.locator('.words').innerText()).toContain('each waiting caller shares that one request')

  await answer.locator('.words').getByRole('button', { name: 'Source 2, src/token.ts:8-9' }).click()
  const code = page.getByRole('complementary', { name: 'src/token.ts' })
  await code.locator('.cited').first().waitFor()
  expect(await code.locator('.cited mark').allInnerTexts()).toEqual([
    '  pending ??= requestToken(token.account).finally(() => (pending = undefined))',
    '  return pending',
  ])
  expect(
    await code
      .locator('.cited')
      .evaluateAll((lines) => lines.map((line) => (line as unknown as { value: number }).value)),
  ).toEqual([8, 9])
  expect(await code.getByRole('link', { name: 'Open at the git host' }).getAttribute('href')).toBe(
    `https://github.com/octo/tools/blob/${commit}/src/token.ts#L8`,
  )
  await code.getByRole('button', { name: 'Close' }).click()

  service.script.play = fromStore
  await ask(page, question)
  await newest(page).getByText('Answered before').waitFor()
  expect(await newest(page).locator('.timeline').innerText()).toMatch(/^Stored answer, read in .* without a sandbox$/)
  await expect
    .poll(() => page.locator('#answers > article').count(), { message: 'the same answer stands there once' })
    .toBe(1)
})

test('the answer can be read while it is written, and its citations become buttons when they are checked', async () => {
  const page = await desk.visitRun()
  let finish = () => {}
  const held = new Promise<void>((resolve) => {
    finish = resolve
  })
  desk.service.script.play = async ({ send }) => {
    for (const text of pieces) send('token', { text })
    await held
    send('answer', someAnswer())
  }
  await ask(page, question)
  const words = newest(page).locator('.words')
  await words.getByText('The reply becomes the token').waitFor()
  await expect
    .poll(() => words.innerText(), { message: 'the same blocks as the answer will have' })
    .toMatch(/returned as it is 1\.\s+An older one[^*]*request 2:\s+refreshToken looks at issuedAt\.\s+It calls/)
  expect(await words.locator('strong').innerText()).toBe('younger than an hour')
  expect(await words.locator('.unchecked').allInnerTexts()).toEqual(['1', '2', '3'])
  await expect.poll(() => words.getByRole('button').count()).toBe(0)
  expect(await words.getAttribute('aria-busy')).toBe('true')
  finish()
  await words.getByRole('button').first().waitFor()
  await expect.poll(() => words.getByRole('button').count()).toBe(3)
  expect(await words.getAttribute('aria-busy')).toBe('false')
})

test('a citation is short while the answer is written, and is not shown before it is whole', async () => {
  const page = await desk.visitRun()
  const drafts = await recordDrafts(page)
  desk.service.script.play = async ({ send, pause }) => {
    for (const text of ['It waits [[src/to', 'ken.ts:7 "if (Date', '.now() - 1)"]', '], as [the docs] say.']) {
      send('token', { text })
      await pause(100)
    }
    send('answer', someAnswer())
  }
  await ask(page, question)
  await answered(page)
  expect(await drafts()).toEqual(['It waits', 'It waits 1, as [the docs] say.'])
})

test('Markdown that is not written to its end shows no marks, and what was read stays where it is', async () => {
  const page = await desk.visitRun()
  const drafts = await recordDrafts(page)
  const { promise: looked, resolve: goOn } = Promise.withResolvers<void>()
  const { promise: seen, resolve: finish } = Promise.withResolvers<void>()
  desk.service.script.play = async ({ send, pause }) => {
    const begin = [
      'It is **you',
      'nger** th',
      'an `an',
      ' hour`.\n',
      '\n| step',
      ' | where |\n| --',
      '- | --- |\n',
      '| one | [[src',
    ]
    for (const text of begin) {
      send('token', { text })
      await pause(100)
    }
    await looked
    send('token', { text: '/token.ts:7 "if"]] |\n\n```ts\nconst a = **1\n' })
    await seen
    send('answer', someAnswer())
  }
  await ask(page, question)
  const draft = newest(page).locator('.draft')
  await draft.locator('th').first().waitFor()
  await page.evaluate(`document.querySelector('.draft > p').dataset.kept = 'yes'`)
  expect(await draft.locator('> p').innerText()).toBe('It is younger than an hour.')
  goOn()
  await draft.locator('pre').waitFor()
  expect(await draft.locator('> p').getAttribute('data-kept')).toBe('yes')
  expect(await draft.locator('td').allInnerTexts()).toEqual(['one', '1'])
  finish()
  await answered(page)
  const shown = await drafts()
  expect(shown.length).toBeGreaterThan(2)
  expect(shown.filter((text) => /\*\*(?!1)|[`|[]/.test(text))).toEqual([])
})

test('the timeline shows every step with its time, and a sandbox that comes and goes', async () => {
  const page = await desk.visitRun()
  await ask(page, question)
  const timeline = newest(page).locator('.timeline')
  await timeline.getByText('and is gone.').waitFor()
  expect(await timeline.locator('summary').innerText()).toMatch(
    /^Answered in [\d.]+ m?s\. The sandbox lived [\d.]+ m?s and is gone\.$/,
  )
  await timeline.locator('summary').click()
  const rows = await timeline.getByRole('listitem').allInnerTexts()
  expect(rows.map((row) => row.split('\n')[0])).toEqual([
    'Look up the run',
    'Claim the question',
    'Start a sandbox',
    'Sandbox',
    'Find the lines that matter',
    'Write the answer',
    'Check every citation',
    'Keep the answer',
  ])
  expect(rows[3]).toMatch(/i7x2k9, template base\s+gone after [\d.]+ m?s$/)
  expect(rows[4]).toContain('9 pieces of 4 files')
})

test('a link opens its run after the token was given, and back leads back', async () => {
  const page = await desk.visit(runAddress)
  expect(await page.getByText('This link opens run 3f9c2a7 of octo/tools.').isVisible()).toBe(true)
  await enter(page)
  await page.getByRole('heading', { name: 'octo/tools' }).waitFor()
  await page.getByRole('button', { name: 'All runs' }).click()
  await page.getByRole('link', { name: 'pull request 12' }).click()
  await page.locator('#run-facts').getByText('0101010').waitFor()
  await page.goBack()
  await page.getByRole('link', { name: 'main' }).waitFor()
  await page.goBack()
  await page.getByRole('heading', { name: 'What it is and for whom' }).waitFor()
  expect(new URL(page.url()).searchParams.get('run')).toBe(run)
})

test('a repository that was chosen is a place to come back to, and the place before it has nothing chosen', async () => {
  const page = await desk.visit()
  await enter(page)
  const chip = page.getByRole('button', { name: 'octo/tools' })
  await chip.press('Enter')
  await page.getByRole('link', { name: 'main' }).waitFor()
  expect(new URL(page.url()).search).toBe('?repository=octo%2Ftools')
  expect(await chip.evaluate((node) => node.ownerDocument.activeElement === node), 'it keeps the keyboard').toBe(true)
  await chip.click()
  await page.getByRole('link', { name: 'main' }).click()
  await page.getByLabel('Your question').waitFor()
  await page.goBack()
  await page.getByRole('link', { name: 'main' }).waitFor()
  expect(await chip.getAttribute('aria-current')).toBe('true')

  desk.service.rule({ path: /^\/api\/runs\?/, times: 1, fault: { kind: 'hang' } })
  await page.getByLabel('Repository', { exact: true }).fill('octo/website')
  await page.getByRole('button', { name: 'Show runs' }).click()
  await page.getByText('Reading the runs').waitFor()
  for (const _step of ['octo/tools', 'nothing']) await page.goBack()
  await expect.poll(() => page.evaluate('location.search')).toBe('')
  await expect.poll(() => page.locator('#runs').getAttribute('aria-busy')).toBe('false')
  expect(await page.locator('#runs').innerText()).toBe('')
  expect(await page.getByLabel('Repository', { exact: true }).inputValue()).toBe('')
  expect(await page.locator('.chip[aria-current]').count()).toBe(0)
})

test('a link to a branch leads to the run that answers for it', async () => {
  const page = await desk.visit('/?repository=octo%2Ftools&ref=main')
  await enter(page)
  await page.getByRole('heading', { name: 'What it is and for whom' }).waitFor()
  expect(new URL(page.url()).search).toBe(runAddress.slice(1))
})

test('runs come page by page', async () => {
  const page = await desk.visit('/?repository=octo%2Ftools')
  await enter(page)
  await page.getByRole('link', { name: 'pull request 12' }).waitFor()
  await expect.poll(() => page.locator('.runs a').count()).toBe(2)
  await page.getByRole('button', { name: 'More runs' }).click()
  await page.getByRole('link', { name: 'release/2.x' }).waitFor()
  await expect.poll(() => page.getByRole('button', { name: 'More runs' }).count()).toBe(0)
})

test('a token for one repository has nothing to choose but the run', async () => {
  desk.service.script.repositories = ['octo/tools']
  const page = await desk.visit()
  await enter(page)
  await page.getByRole('heading', { name: 'octo/tools' }).waitFor()
  await expect.poll(() => page.locator('.runs a').count()).toBe(2)
  expect(await page.getByLabel('Repository', { exact: true }).isVisible()).toBe(false)
})

test('earlier questions lead to their answers, whose citations fetch the lines they name', async () => {
  const page = await desk.visitRun()
  await page.getByRole('link', { name: 'Which partners are there?' }).click()
  expect(new URL(page.url()).searchParams.get('answer')).toBe('0'.repeat(32))
  const words = newest(page).locator('.words')
  await words.getByRole('button', { name: 'Source 3, src/partners/request.ts:12-14' }).click()
  const code = page.locator('#code')
  await code.locator('.cited').first().waitFor()
  expect(await code.locator('.cited mark').allInnerTexts()).toEqual(['line twelve', 'line thirteen', 'line fourteen'])
  expect(desk.service.requests.map(({ path }) => path)).toContainEqual(
    expect.stringContaining(
      '/files?repository=octo%2Ftools&path=src%2Fpartners%2Frequest.ts&from=12&to=14&answer=0000',
    ),
  )
  await page.getByRole('link', { name: 'What happens when the partner does not answer' }).click()
  await page.getByText('The model’s service did not answer. Ask again in a moment.').waitFor()
})

test('many earlier questions come page by page, and the keyboard goes on where the new ones begin', async () => {
  desk.service.script.answers = Array.from({ length: 25 }, (_, index) =>
    someAnswer({ question: `Question ${index + 1}?` }),
  )
  const page = await desk.visitRun()
  await page.getByText('Question 20?', { exact: true }).waitFor()
  await expect.poll(() => page.locator('#earlier-list li').count()).toBe(20)
  await page.getByRole('button', { name: 'More questions' }).press('Enter')
  await page.getByText('Question 25?', { exact: true }).waitFor()
  await expect.poll(() => page.getByRole('button', { name: 'More questions' }).count()).toBe(0)
  expect(await page.evaluate('document.activeElement.textContent')).toContain('Question 21?')
})

test('an answer that is on its way can be looked at again, where it stands', async () => {
  desk.service.script.answers[0] = { ...someAnswer(), status: 'running', completedAt: undefined }
  const page = await desk.visitRun()
  await page.locator('#earlier-list a').first().click()
  const first = newest(page)
  const look = first.getByRole('button', { name: 'Look again' })
  await look.press('Enter')
  await first.getByText('A moment ago its answer was still being written.').waitFor()
  expect(await page.evaluate('document.activeElement.localName')).toBe('h3')
  desk.service.script.answers[0] = someAnswer()
  await look.press('Enter')
  await first.locator('.sources').waitFor()
  expect(await page.evaluate('document.activeElement.textContent')).toContain(question)
})

test('an answer that another caller asked for is shown while it is written, until the reader leaves it', async () => {
  const { script } = desk.service
  script.answers[0] = { ...someAnswer(), status: 'running', completedAt: undefined }
  const { promise: written, resolve: finish } = Promise.withResolvers<void>()
  const left: (() => boolean)[] = []
  script.follow = async (events, since) => {
    left.push(events.gone)
    events.send('token', { text: `The token, from ${since ?? 'the beginning'}` }, 'c1-9')
    await Promise.race([written, events.pause(60_000)])
    events.send('answer', someAnswer())
  }
  const page = await desk.visitRun()
  const open = page.locator('#earlier-list a').first()
  await open.click()
  await newest(page).locator('.draft').getByText('The token, from the beginning').waitFor()
  await page.getByRole('link', { name: 'What happens when the partner does not answer' }).click()
  await expect.poll(() => left[0]?.(), { message: 'nothing is read for a reader who left' }).toBe(true)
  await open.click()
  await newest(page).locator('.draft').waitFor()
  await newest(page).getByRole('button', { name: 'Ask again' }).click()
  await answered(page)
  await expect.poll(() => left[1]?.(), { message: 'the answer that was asked for again takes its place' }).toBe(true)
  await page.goto(`${desk.service.url}${runAddress}&answer=${String(someAnswer()['id'])}`)
  await enter(page)
  await newest(page).locator('.draft').waitFor()
  finish()
  await newest(page).locator('.sources').waitFor()
  expect(await newest(page).locator('.words').innerText()).toContain('each waiting caller shares that one request')
  expect(await newest(page).getByRole('button', { name: 'Look again' }).count()).toBe(0)
})

test('an answer anew is asked for as such, by the box and by the button', async () => {
  const page = await desk.visitRun()
  await openOptions(page)
  await page.getByLabel('Answer anew').check()
  await ask(page, question)
  await answered(page)
  expect(await page.getByLabel('Answer anew').isChecked(), 'the wish was for one question').toBe(false)
  desk.service.script.play = fromStore
  await ask(page, question)
  await newest(page).getByRole('button', { name: 'Ask anew' }).click()
  await expect.poll(() => desk.service.questions.length).toBe(3)
  expect(desk.service.questions.map((asked) => asked['fresh'])).toEqual([true, undefined, true])
})

test('the token is nowhere but in the header of requests', async () => {
  const page = await desk.visitRun()
  await ask(page, question)
  await answered(page)
  const traces = await page.evaluate<Record<string, string>>(`(async () => ({
    local: JSON.stringify({ ...localStorage }), session: JSON.stringify({ ...sessionStorage }), cookie: document.cookie,
    databases: JSON.stringify(await indexedDB.databases()), caches: JSON.stringify(await caches.keys()), workers: String((await navigator.serviceWorker.getRegistrations()).length),
    address: location.href, state: JSON.stringify(history.state), name: window.name, title: document.title,
    fields: JSON.stringify([...document.querySelectorAll('input, textarea')].map((field) => field.value)), markup: document.documentElement.outerHTML,
  }))()`)
  expect(Object.entries(traces).filter(([, text]) => text.includes(token))).toEqual([])
  expect(traces).toMatchObject({ local: '{}', session: '{}', cookie: '', databases: '[]', caches: '[]', workers: '0' })
  expect(desk.service.requests.filter(({ path }) => path.includes(token))).toEqual([])
  const withToken = desk.service.requests.filter(({ headers }) => headers['authorization'] !== undefined)
  expect(withToken.length).toBeGreaterThan(3)
  expect(withToken.every(({ path }) => path.startsWith('/api/'))).toBe(true)
  await page.reload()
  await page.getByLabel('Access token').waitFor()
  expect(await page.getByLabel('Access token').inputValue()).toBe('')
})

test('a token can be forgotten, with everything it showed', async () => {
  const page = await desk.visitRun()
  await ask(page, question)
  await answered(page)
  await newest(page).locator('.words button').first().click()
  await page.locator('#code').locator('.cited').first().waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'All runs' }).click()
  await page.getByRole('link', { name: 'main' }).waitFor()
  await page.getByRole('button', { name: 'Forget token' }).click()
  await page.getByLabel('Access token').waitFor()
  const left = await page.evaluate<string>('document.documentElement.outerHTML')
  for (const trace of [token, 'refreshToken', 'younger than', 'requestToken', question, 'octo/tools', 'src/token.ts'])
    expect(left).not.toContain(trace)
  expect(await page.locator('#status').textContent()).toBe('')
})
