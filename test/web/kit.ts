// What every file of page tests needs: the scripted service, one browser, fresh pages, and the check that nothing complained.
import axe from 'axe-core'
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { howToGet, openPage, startBrowser, type Watched } from './browser.js'
import { run, token } from './content.js'
import { type ScriptedService, startService } from './service.js'

export interface Desk {
  readonly service: ScriptedService
  /** A page of its own, at this address of the service. */
  visit(address?: string, options?: BrowserContextOptions): Promise<Page>
  /** … with the token given, on the run's own page. */
  visitRun(options?: BrowserContextOptions): Promise<Page>
}

export const runAddress = `/?repository=octo%2Ftools&run=${run}`

export function useDesk(): Desk {
  let service: ScriptedService
  let browser: Browser | undefined
  let open: Watched[] = []

  beforeAll(async () => {
    ;[service, browser] = await Promise.all([startService(), startBrowser()])
  })
  beforeEach((context) => {
    if (!browser) context.skip(howToGet)
    service.reset()
  })
  afterEach(async () => {
    const complaints = open.flatMap((watched) => watched.complaints)
    await Promise.all(open.map((watched) => watched.close()))
    open = []
    expect(complaints).toEqual([])
  })
  afterAll(async () => {
    await Promise.all([browser?.close(), service?.close()])
  })

  const visit = async (address = '/', options: BrowserContextOptions = {}) => {
    const watched = await openPage(browser!, service.url, options)
    open.push(watched)
    await watched.page.goto(service.url + address)
    return watched.page
  }
  return {
    get service() {
      return service
    },
    visit,
    async visitRun(options) {
      const page = await visit(runAddress, options)
      await enter(page)
      await page.getByLabel('Your question').waitFor()
      return page
    },
  }
}

export async function enter(page: Page, secret = token): Promise<void> {
  await page.getByLabel('Access token').fill(secret)
  await page.getByRole('button', { name: 'Continue' }).click()
}

export async function ask(page: Page, text: string): Promise<void> {
  await page.getByLabel('Your question').fill(text)
  await page.getByRole('button', { name: 'Ask', exact: true }).click()
}

/** Sets the options of the question box, which are folded. */
export async function openOptions(page: Page): Promise<void> {
  await page.locator('#options > summary').click()
}

/** Opens whatever can be opened. */
export async function unfold(page: Page): Promise<void> {
  await page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true })")
}

/** Notes from now on what those who listen hear; returns how to read it. */
export async function listenTo(page: Page): Promise<() => Promise<string[]>> {
  await page.evaluate(`(() => {
    window.said = []
    new MutationObserver(() => window.said.push(document.querySelector('#status').textContent)).observe(document.querySelector('#status'), { childList: true })
  })()`)
  return () => page.evaluate<string[]>('window.said')
}

/** Notes each text that the page shows while the answer is written; returns how to read them. */
export async function recordDrafts(page: Page): Promise<() => Promise<string[]>> {
  await page.evaluate(`(() => {
    window.drafts = []
    new MutationObserver(() => {
      const draft = document.querySelector('#answers .draft')?.textContent
      if (draft && draft !== window.drafts.at(-1)) window.drafts.push(draft)
    }).observe(document.querySelector('#answers'), { childList: true, subtree: true, characterData: true })
  })()`)
  return () => page.evaluate<string[]>('window.drafts')
}

/** Fails with what axe finds. It runs in an isolated world of the page, so the page's policy does not concern it. */
export async function accessible(page: Page, state: string): Promise<void> {
  const session = await page.context().newCDPSession(page)
  const { frameTree } = await session.send('Page.getFrameTree')
  const { executionContextId: contextId } = await session.send('Page.createIsolatedWorld', {
    frameId: frameTree.frame.id,
  })
  await session.send('Runtime.evaluate', { expression: axe.source, contextId })
  const expression = `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
    JSON.stringify(violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 160)).join(' | '))))`
  const { result } = await session.send('Runtime.evaluate', { expression, contextId, awaitPromise: true })
  await session.detach()
  expect(JSON.parse(String(result.value)), state).toEqual([])
}

/** The visible text, line by line. */
export async function linesOf(place: Locator): Promise<string[]> {
  return (await place.innerText()).split('\n').filter((line) => line.trim() !== '')
}

/** What went wrong there: its words, which are said aloud, and what can be done. */
export const problemIn = (place: Locator | Page) => place.locator('.problem')

/** The newest answer on the page. */
export const newest = (page: Page) => page.locator('#answers > article').last()

/** Waits until the newest question is answered; when it was refused instead, says why. */
export async function answered(page: Page): Promise<Locator> {
  const article = newest(page)
  await article.locator('.sources, [role=alert]').first().waitFor()
  if ((await article.getByRole('alert').count()) > 0) throw new Error((await linesOf(article)).join(' / '))
  return article
}
