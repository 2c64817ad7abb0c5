// The page's story for people who sign in: the real functions, an emulated GitHub, Chromium, and axe in every state.
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { addReader, deployWithSignIn, type SignInDeployment } from '../service/auth/browser.js'
import { name } from '../service/kit.js'
import { howToGet, openPage, startBrowser, type Watched } from './browser.js'
import { accessible, answered, ask, newest, openOptions } from './kit.js'

let at: SignInDeployment
let browser: Browser | undefined
const open: Watched[] = []

beforeAll(async () => {
  browser = await startBrowser()
  if (browser) at = await deployWithSignIn()
}, 120_000)

beforeEach((context) => {
  if (!browser) context.skip(howToGet)
})

afterEach(async () => {
  const watched = open.splice(0)
  for (const one of watched) await one.close()
  expect(watched.flatMap(({ complaints }) => complaints)).toEqual([])
})

afterAll(async () => {
  await browser?.close()
  await at?.[Symbol.asyncDispose]()
})

/** A page in the browser of one person, whom GitHub knows there. */
async function visit(login: string, address: string): Promise<Page> {
  const watched = await openPage(browser!, at.here.url, { person: login, leadsTo: at.github.url })
  open.push(watched)
  await watched.page.goto(new URL(address, at.here.url).href)
  return watched.page
}

async function signIn(page: Page, login: string): Promise<void> {
  at.github.userFlow.person = addReader(at, login)
  await page.getByRole('link', { name: 'Sign in with GitHub' }).click()
  await page.locator('#person').getByText(login).waitFor()
}

test('sign in, choose, ask, watch, follow a citation, ask on, share the link, open it as another person, lose access', async () => {
  const { model } = at.here.stack.clouds
  const page = await visit('wanda', '/')
  await page.getByRole('link', { name: 'Sign in with GitHub' }).waitFor()
  await accessible(page, 'before signing in')
  await signIn(page, 'wanda')
  expect(page.url()).toBe(`${at.here.url}/`)
  await page.getByRole('link', { name: 'main' }).waitFor()
  await accessible(page, 'the choice')

  await page.getByRole('link', { name: 'main' }).click()
  await page.getByRole('heading', { name: 'What it is and for whom' }).waitFor()
  await accessible(page, 'a run')
  model.setBehaviour({ kind: 'slow', pieceMs: 100 }, { task: 'answer' })
  await ask(page, 'How is the token refreshed?')
  await newest(page).locator('.draft').waitFor()
  await accessible(page, 'an answer that is being written')
  await answered(page)
  model.clearBehaviours()
  await newest(page)
    .locator('.words')
    .getByRole('button', { name: /^Source \d+, src\/token\.ts:/ })
    .first()
    .click()
  await page.locator('#code .cited').first().waitFor()
  await accessible(page, 'an answer and its code')
  await openOptions(page)
  await accessible(page, 'the options')
  await ask(page, 'What does refreshToken return?')
  await answered(page)
  expect(await page.locator('#answers > article').count()).toBe(2)
  await accessible(page, 'a thread')

  const shared = page.url()
  const other = await visit('otto', shared)
  await other.getByText(/^This link opens run [0-9a-f]{7} of octo\/tools\.$/).waitFor()
  // GitHub's tokens for Otto end within the hour, so the page renews his session whenever it is opened.
  at.github.userFlow.tokenSeconds = 3_000
  await signIn(other, 'otto')
  await newest(other).getByRole('heading', { name: 'What does refreshToken return?' }).waitFor()
  await newest(other).locator('.how').waitFor()
  expect(other.url()).toBe(shared)
  await accessible(other, 'an answer that another person shares')
  const machines = at.here.machines()

  at.repository.collaborators.delete('otto')
  await other.reload()
  await other.getByText('You may not read this repository on GitHub.').first().waitFor()
  await accessible(other, 'lost access')
  expect(await other.locator('main').innerText()).not.toContain('What does refreshToken return?')
  await other.getByRole('button', { name: 'Sign out' }).click()
  await other.getByRole('link', { name: 'Sign in with GitHub' }).waitFor()
  await expect.poll(() => other.context().cookies()).toEqual([])
  expect(at.here.machines()).toBe(machines)
}, 120_000)

test('a person who says no on GitHub reads why, and may try again', async () => {
  const page = await visit('nora', `/?repository=${encodeURIComponent(name)}`)
  at.github.userFlow.decision = 'deny'
  at.github.userFlow.person = addReader(at, 'nora')
  await page.getByRole('link', { name: 'Sign in with GitHub' }).click()
  await page.getByText('You did not allow it').waitFor()
  await accessible(page, 'a refused sign-in')
  at.github.userFlow.decision = 'allow'
  await signIn(page, 'nora')
  await page.getByRole('link', { name: 'main' }).waitFor()
  expect(page.url()).toBe(`${at.here.url}/?repository=octo%2Ftools`)
})

test('a person whose sign-out was not answered reads that the session may go on', async () => {
  const page = await visit('lena', '/')
  await signIn(page, 'lena')
  await page.route('**/api/auth/logout', (route) => route.abort())
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByText('You may still be signed in').waitFor()
  await accessible(page, 'a sign-out without a reply')
  await page.unroute('**/api/auth/logout')
  await page.reload()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('link', { name: 'Sign in with GitHub' }).waitFor()
  expect(await page.getByText('You may still be signed in').count()).toBe(0)
  await expect.poll(() => page.context().cookies()).toEqual([])
})
