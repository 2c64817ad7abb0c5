// How soon the page can be used on a phone: the built page and the functions on a server of our own, in Chromium with a processor four times slower
// and a mobile network. Beside it an empty page, which nothing can beat.
import { performance } from 'node:perf_hooks'
import { type Browser, chromium, type Page } from 'playwright-core'
import { type ServiceBed, startBed } from './service-fixture.js'

const runs = 7
/** The 4G of WebPageTest. Chromium adds the latency to each request, and asks for no handshake on a loopback address. */
const network = { latency: 170, downloadThroughput: 9_000_000 / 8, uploadThroughput: 9_000_000 / 8, offline: false }
const processorSlowdown = 4
const phone = { viewport: { width: 412, height: 823 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true }
const mostMilliseconds = 1_000

interface Visit {
  /** When the first text is on the screen, and when its first control answers. */
  painted: number
  usable: number
  /** From the token to a question box of a run. */
  opened: number
  bytes: number
  shift: number
}

const say = (text: string) => process.stdout.write(`${text}\n`)
const middle = (numbers: number[]) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]!

// The page's own side, as text: this program has no document.
const readTimings = `({
  painted: performance.getEntriesByName('first-contentful-paint')[0].startTime,
  bytes: [...performance.getEntriesByType('resource'), ...performance.getEntriesByType('navigation')]
    .reduce((sum, { transferSize }) => sum + transferSize, 0),
})`
const readShift = `new Promise((resolve) => {
  const sum = (list) => list.getEntries().reduce((all, { value, hadRecentInput }) => all + (hadRecentInput ? 0 : value), 0)
  new PerformanceObserver((list) => resolve(sum(list))).observe({ type: 'layout-shift', buffered: true })
  setTimeout(() => resolve(0), 500)
})`

export async function benchPage(): Promise<void> {
  await using bed = await startBed()
  const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium'
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  try {
    const visits: Visit[] = []
    const floors: number[] = []
    for (let run = 0; run < runs; run += 1) {
      floors.push(await visitNothing(browser, bed))
      visits.push(await visit(browser, bed))
    }
    say(
      `The page on a phone: ${network.latency} ms and 9 Mbit/s, processor ${processorSlowdown} times slower, empty cache`,
    )
    say(`  an empty page       ${floors.map(Math.round).join(' ')} ms`)
    for (const [name, key] of [
      ['first text', 'painted'],
      ['first control', 'usable'],
      ['token to question', 'opened'],
    ] as const)
      say(`  ${name.padEnd(18)}  ${visits.map((one) => Math.round(one[key])).join(' ')} ms`)
    const usable = middle(visits.map((one) => one.usable))
    const judged = usable <= mostMilliseconds ? 'within' : 'OVER  '
    say(`${judged}  first control: ${usable.toFixed(0)} ms (at most ${mostMilliseconds})`)
    say(`beside  over an empty page: ${(usable / middle(floors)).toFixed(2)} times`)
    say(`beside  transferred: ${(middle(visits.map((one) => one.bytes)) / 1000).toFixed(1)} kB`)
    say(`beside  layout shift: ${Math.max(...visits.map((one) => one.shift)).toFixed(3)}`)
  } finally {
    await browser.close()
  }
}

async function openPhone(browser: Browser): Promise<Page> {
  const page = await (await browser.newContext(phone)).newPage()
  const session = await page.context().newCDPSession(page)
  await session.send('Network.enable')
  await session.send('Network.emulateNetworkConditions', network)
  await session.send('Emulation.setCPUThrottlingRate', { rate: processorSlowdown })
  return page
}

/** A document without script, style or text of its own. */
async function visitNothing(browser: Browser, { url }: ServiceBed): Promise<number> {
  const page = await openPhone(browser)
  await page.route(url, (route) => route.continue({ url: `${url}/icon.svg` }))
  await page.goto(url, { waitUntil: 'load' })
  const loaded = await page.evaluate<number>("performance.getEntriesByType('navigation')[0].duration")
  await page.context().close()
  return loaded
}

async function visit(browser: Browser, { url, token, question }: ServiceBed): Promise<Visit> {
  const page = await openPhone(browser)
  const { repository, run } = question('')
  await page.goto(`${url}/?repository=${encodeURIComponent(String(repository))}&run=${run}`, { waitUntil: 'commit' })
  await page.waitForSelector('#token')
  const usable = await page.evaluate<number>('performance.now()')
  await page.waitForLoadState('networkidle')
  const { painted, bytes } = await page.evaluate<Pick<Visit, 'painted' | 'bytes'>>(readTimings)
  await page.fill('#token', token)
  const entered = performance.now()
  await page.click('#enter')
  await page.waitForSelector('#question')
  const opened = performance.now() - entered
  const shift = await page.evaluate<number>(readShift)
  await page.context().close()
  return { painted, usable, opened, bytes, shift }
}
