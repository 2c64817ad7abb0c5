// The same story before the real functions: a commit is summarised, and a person asks about it on the page.
import { createHash } from 'node:crypto'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type RunningFunctions, startFunctions } from '../../src/emulators/vercel/start.js'
import { type SummariseResult, summarise } from '../../src/handoff/index.js'
import { type LocalStack, startLocalStack } from '../support/local-stack.js'
import { makeRepository, type TestRepository } from '../support/repository.js'
import { compileCache } from '../support/run-program.js'
import { tokenFiles, tokenSource } from '../support/token-files.js'
import { howToGet, openPage, startBrowser, type Watched } from './browser.js'
import { token as secret } from './content.js'
import { answered, ask, enter, newest, recordDrafts } from './kit.js'

let repository: TestRepository
let stack: LocalStack
let run: SummariseResult
let served: RunningFunctions
let browser: Browser | undefined
let watched: Watched | undefined

beforeAll(async () => {
  browser = await startBrowser()
  if (!browser) return
  repository = await makeRepository({
    ...tokenFiles,
    'src/<img src=x onerror=alert(1)>.ts': 'export const hostileColour = "green"\n',
  })
  stack = await startLocalStack({
    repositories: { 'octo/tools': repository.directory },
    repeated: {},
  })
  const commit = stack.commit('octo/tools', repository.head, 'refs/heads/main')
  run = await summarise({ commit, attempt: 'first' }, stack.context, new AbortController().signal)
  const sha256 = createHash('sha256').update(secret).digest('hex')
  served = await startFunctions({
    root: join(import.meta.dirname, '../..'),
    fromSources: true,
    compileCache,
    environment: {
      ...stack.clouds.settings,
      DRIVE9_ROOT: '/handoff',
      GITHUB_SERVER_URL: 'https://git.example.org',
      HANDOFF_BEARERS: `page=${sha256}=octo/*`,
    },
  })
})

beforeEach((context) => {
  if (!browser) context.skip(howToGet)
})

afterEach(async () => {
  stack?.clouds.model.clearBehaviours()
  await watched?.close()
  expect(watched?.complaints ?? []).toEqual([])
})

afterAll(async () => {
  await browser?.close()
  await served?.[Symbol.asyncDispose]()
  await stack?.close()
  await repository?.[Symbol.asyncDispose]()
})

/** A way to the functions that can be cut, with whatever is on it. */
async function startWay(to: string) {
  const open = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect(Number(new URL(to).port), '127.0.0.1')
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one)
      one.on('error', () => other.destroy()).on('close', () => other.destroy() && open.delete(one))
      one.pipe(other)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = () => {
    for (const socket of open) socket.destroy()
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    async [Symbol.asyncDispose]() {
      cut()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const machines = () => stack.clouds.sandboxes.sandboxes.length

test('choose, read, ask, stream, follow a citation, ask again and get the stored answer at once', async () => {
  watched = await openPage(browser!, served.url)
  const { page } = watched
  await page.goto(served.url)
  await enter(page)
  await page.getByRole('link', { name: 'main' }).click()
  await page.getByRole('heading', { name: 'What it is and for whom' }).waitFor()
  expect(new URL(page.url()).searchParams.get('run')).toBe(run.run)

  const before = machines()
  await ask(page, 'How does refreshToken refresh the token?')
  const answer = await answered(page)
  expect(machines() - before).toBe(1)
  const timeline = answer.locator('.timeline')
  expect(await timeline.locator('summary').innerText()).toMatch(/^Answered in .* The sandbox lived .* and is gone\.$/)
  await timeline.locator('summary').click()
  const steps = (await timeline.getByRole('listitem').allInnerTexts()).map((row) => row.split('\n')[0])
  for (const step of [
    'Start a sandbox',
    'Sandbox',
    'Find the lines that matter',
    'Write the answer',
    'Check every citation',
  ])
    expect(steps).toContain(step)
  expect(await answer.innerText()).toMatch(/(\d+) of \1 citations? verified/)

  await answer
    .locator('.words')
    .getByRole('button', { name: /^Source \d+, src\/token\.ts:/ })
    .first()
    .click()
  const code = page.getByRole('complementary', { name: 'src/token.ts' })
  await code.locator('.cited').first().waitFor()
  const cited = await code
    .locator('.cited')
    .evaluateAll((lines) =>
      lines
        .map((line) => line as unknown as { value: number; lastElementChild: { textContent: string } })
        .map(({ value, lastElementChild }) => [value, lastElementChild.textContent]),
    )
  expect(cited.length).toBeGreaterThan(0)
  for (const [number, text] of cited) expect(tokenSource.split('\n')[Number(number) - 1] || '\u200b').toBe(text)
  await page.getByRole('button', { name: 'New thread' }).click()
  await ask(page, 'how does refreshToken refresh the token')
  await newest(page).getByText('Answered before').waitFor()
  expect(machines() - before, 'no second sandbox').toBe(1)
  expect(await newest(page).locator('.timeline').innerText()).toContain('without a sandbox')
})

test('the answer is among the earlier ones for the next who comes by link, and its lines can be followed', async () => {
  const question = 'What does refreshToken return?'
  const asked = await fetch(`${served.url}/api/ask`, {
    method: 'POST',
    body: JSON.stringify({ repository: 'octo/tools', run: run.run, question }),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${secret}` },
  })
  expect(asked.status).toBe(200)
  watched = await openPage(browser!, served.url)
  const { page } = watched
  await page.goto(`${served.url}/?repository=octo%2Ftools&run=${run.run}`)
  await enter(page)
  await page.getByText(question).click()
  await newest(page).locator('.words button').first().click()
  await page.locator('#code').locator('.cited').first().waitFor()
})

test('a hostile file name is a name, and what does not exist is reported', async () => {
  watched = await openPage(browser!, served.url)
  const { page } = watched
  await page.goto(`${served.url}/?repository=octo%2Ftools&run=${run.run}`)
  await enter(page)
  await page.getByLabel('Your question').waitFor()
  await ask(page, 'Where is hostileColour defined?')
  await answered(page)
  expect(await page.locator('main img').count()).toBe(0)
  await page.goto(`${served.url}/?repository=octo%2Ftools&run=${'0'.repeat(40)}-none`)
  await enter(page)
  expect(await page.getByRole('alert').innerText()).toContain('was never summarised')
})

test('a wrong token reaches no cloud', async () => {
  const before = stack.clouds.drive.requests.length
  watched = await openPage(browser!, served.url)
  const { page } = watched
  await page.goto(served.url)
  await enter(page, 'wrong')
  expect(await page.getByRole('alert').innerText()).toContain('The token is not known.')
  expect(stack.clouds.drive.requests.length - before).toBe(0)
})

test('a connection that is cut in the middle of an answer: the words go on, and each is shown once', async () => {
  await using way = await startWay(served.url)
  watched = await openPage(browser!, way.url)
  const { page } = watched
  await page.goto(`${way.url}/?repository=octo%2Ftools&run=${run.run}`)
  await enter(page)
  await page.getByLabel('Your question').waitFor()
  const before = machines()
  // Words are kept one second after the first of them.
  const text = `It needs an account. ${Array.from({ length: 60 }, (_none, index) => `word${index}`).join(' ')} end.`
  const { model } = stack.clouds
  model.setBehaviour({ kind: 'say', text }, { task: 'answer' })
  model.setBehaviour({ kind: 'slow', pieceMs: 60 }, { task: 'answer' })
  const drafts = await recordDrafts(page)
  await ask(page, 'What does requestToken need from its caller?')
  await newest(page).locator('.words').getByText('word2').waitFor()
  way.cut()
  const { length: beforeCut } = await drafts()
  await newest(page).locator('.how').waitFor()
  const shown = await drafts()
  expect(shown.at(-1)).toBe(text)
  expect(shown.length).toBeGreaterThan(beforeCut)
  expect(shown.filter((draft, index) => !draft.startsWith(shown[index - 1] ?? ''))).toEqual([])
  await newest(page).locator('.timeline summary').click()
  expect(await newest(page).locator('.timeline').innerText()).toContain('Look for the answer')
  expect(machines() - before).toBe(1)
})
