// A real Chromium for the page's tests. What must never happen on any page is watched from the start: a violation of the policy, an error in
// the console, a request to anywhere else, a token where it could outlive the page.
import { existsSync } from 'node:fs'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { secretWatch } from '../support/recorded-requests.js'

const candidates = [
  process.env['CHROMIUM'] ?? '',
  // The same engine without a window around it: it takes half the time for a page.
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

const found = candidates.find((path) => path !== '' && existsSync(path))

export const howToGet =
  'No Chromium was found, so the page was not tested. Install one (Debian: apt-get install chromium-headless-shell; elsewhere any Chromium) or name one in CHROMIUM.'

/** Nothing where there is no browser and none is required; on a machine that decides about changes one is required. */
export async function startBrowser(
  program = found ?? '',
  required = Boolean(process.env['CI']),
): Promise<Browser | undefined> {
  if (program === '') {
    if (required) throw new Error(howToGet)
    return undefined
  }
  const quiet = ['gpu', 'quic', 'background-networking', 'component-update', 'sync', 'dev-shm-usage'].map(
    (what) => `--disable-${what}`,
  )
  // Readers have scroll bars, which take room when a page grows.
  const ignoreDefaultArgs = ['--hide-scrollbars']
  return chromium.launch({
    executablePath: program,
    args: ['--no-sandbox', '--no-first-run', ...quiet],
    ignoreDefaultArgs,
  })
}

export interface Watched {
  page: Page
  /** Violations, errors, foreign requests: empty, or the page is broken. */
  complaints: string[]
  close(): Promise<void>
}

/** Pages of one kind share a context, and with it a process, a cache and cookies; that nothing else is shared is what the tests look at. */
const contexts = new WeakMap<Browser, Map<string, Promise<BrowserContext>>>()

function contextFor(browser: Browser, options: BrowserContextOptions, person: string): Promise<BrowserContext> {
  const known = contexts.get(browser) ?? new Map<string, Promise<BrowserContext>>()
  contexts.set(browser, known)
  const key = `${person} ${JSON.stringify(options)}`
  const usual: BrowserContextOptions = { viewport: { width: 1280, height: 900 }, reducedMotion: 'reduce' }
  const context = known.get(key) ?? browser.newContext({ ...usual, ...options })
  known.set(key, context)
  return context
}

/** What a page shows and keeps when it is left: a token may stand in its field, and nowhere else. */
async function hearPage(page: Page): Promise<void> {
  const kept = await page
    .evaluate('JSON.stringify([location.href, document.title, document.cookie, { ...localStorage }, history.state])')
    .catch(() => '')
  const shown = await page.content().catch(() => '')
  secretWatch.addText('a page', shown)
  secretWatch.addText('what a page keeps', String(kept))
}

interface PageOptions extends BrowserContextOptions {
  /** Whose browser it is. */
  person?: string
  /** The page may lead there. */
  leadsTo?: string
}

export async function openPage(
  browser: Browser,
  origin: string,
  { person = '', leadsTo = origin, ...options }: PageOptions = {},
): Promise<Watched> {
  const context = await contextFor(browser, options, person)
  const page = await context.newPage()
  page.setDefaultTimeout(45_000)
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`))
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('console', (message) => {
    // Chromium says of every refused request that it failed; the page shows those itself.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      complaints.push(`console: ${message.text()}`)
  })
  page.on('request', (request) => {
    if (![`${origin}/`, `${leadsTo}/`, 'data:'].some((start) => request.url().startsWith(start)))
      complaints.push(`request to ${request.url()}`)
  })
  await page.addInitScript({
    content: `document.addEventListener('securitypolicyviolation', (event) =>
      console.error('policy violated: ' + event.violatedDirective + ' by ' + (event.blockedURI || event.sample)))`,
  })
  const close = async () => {
    await hearPage(page)
    await page.close()
  }
  return { page, complaints, close }
}
