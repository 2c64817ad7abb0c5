// The page of a run: its summary, the other runs, earlier questions, and the thread.
import type { ApiClient } from './api-client.js'
import type { Run, RunAddress, StoredAnswer, WholeRun } from './api-types.js'
import { closeCode } from './code-panel.js'
import { element, fill, find, focusOn } from './dom.js'
import { refreshEarlier, showEarlier } from './earlier-questions.js'
import { clearProblem, showProblem } from './error-panel.js'
import { showExamples } from './examples.js'
import { plainName, shortCommit, timeAgo } from './format.js'
import { onPlainClick } from './link-click.js'
import { linksTo } from './links.js'
import { addressOf, type Place } from './page-address.js'
import { createRunTime, runTitle } from './run-picker.js'
import { awaitSummary, showFacts, showSummary } from './run-summary.js'
import type { RunView } from './run-view.js'
import { ask, askInThread, clearThread, openAnswer } from './thread.js'

interface PageOptions {
  client: ApiClient
  handleSignOut: (error: unknown) => boolean
  goTo: (place: Place) => void
  /** The token was accepted before and is not any more. */
  onRevoked: () => void
}

/** Headings of nothing while the run is read, and where it cannot be read. */
const shownWithRun = ['asking', 'ask-form', 'to-question', 'contents-part', 'earlier']

/** Shows the run and, where the address names one, an answer. Undefined when the run cannot be read. */
export async function showRun(
  place: RunAddress,
  answer: string | undefined,
  options: PageOptions,
  signal: AbortSignal,
): Promise<RunView | undefined> {
  const { client, handleSignOut } = options
  prepareRun(place)
  focusOn(find('run-title'))
  const reading = answer === undefined ? undefined : client.answer(place, answer, signal)
  reading?.catch(() => undefined)
  try {
    const run = await client.run(place, signal)
    const view = createRunView(place, run, options, signal)
    showFacts(run)
    showSummary(run, view.link)
    showExamples(run.summaryBlocks, (question) => askInThread(view, question))
    for (const id of shownWithRun) find(id).hidden = false
    void showOtherRuns(view, run)
    void showEarlier(view)
    showThread(view, answer, reading)
    return view
  } catch (error) {
    if (!signal.aborted && !handleSignOut(error))
      showRunProblem(place.run, error, () => options.goTo({ ...place, answer }))
    return undefined
  }
}

/** Shows the answer that the address names, or an empty thread. */
export function showThread(view: RunView, answer: string | undefined, reading?: Promise<StoredAnswer>): void {
  if (answer === undefined) clearThread()
  else void openAnswer(view, answer, reading ?? view.client.answer(view.place, answer, view.signal))
}

export function showRunProblem(run: string, error: unknown, retry: () => void): void {
  fill(find('summary'))
  fill(find('run-facts'), element('code', {}, plainName(run).slice(0, 24)))
  showProblem(find('run-problem'), error, { retry })
}

export function prepareRun(place: RunAddress): void {
  find('run-title').textContent = plainName(place.repository)
  fill(find('run-facts'), element('span', {}, 'Opening ', element('code', {}, plainName(place.run).slice(0, 24))))
  clearProblem(find('run-problem'))
  for (const id of [...shownWithRun, 'run-note', 'newer-run', 'other-runs']) find(id).hidden = true
  awaitSummary()
  clearThread()
  closeCode()
  fill(find('earlier-list'))
  fill(find('run-list'))
}

function createRunView(place: RunAddress, run: WholeRun, options: PageOptions, signal: AbortSignal): RunView {
  const { client, handleSignOut, goTo, onRevoked } = options
  const view: RunView = {
    client,
    place,
    signal,
    handleSignOut,
    goTo,
    link: linksTo({ host: run.handoff?.host, repository: run.handoff?.repository ?? place.repository }),
    async ask(question, earlier) {
      if (!signal.aborted && (await ask(view, question, earlier)) === 'unauthorized') onRevoked()
    },
    showStoredAnswers: () => refreshEarlier(view),
  }
  return view
}

// ── the other runs ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The list of runs is read again this often while the page is looked at. */
const readAgainMs = 300_000
const mostListed = 8

/** They are beside the point: when they cannot be read, the page is whole without them. */
async function showOtherRuns(view: RunView, run: WholeRun): Promise<void> {
  const read = async () => {
    const { runs } = await view.client.runs(run.repository, undefined, view.signal)
    fillRuns(view, run, runs)
    announceNewer(view, run, runs)
  }
  await read().catch(() => undefined)
  const again = setInterval(() => {
    if (document.visibilityState === 'visible') void read().catch(() => undefined)
  }, readAgainMs)
  view.signal.addEventListener('abort', () => clearInterval(again))
}

function fillRuns({ place, goTo }: RunView, current: Run, runs: Run[]): void {
  const items = runs.slice(0, mostListed).map((run) => {
    const there = { repository: place.repository, run: run.run }
    const properties = { class: 'entry', href: addressOf(there), 'aria-current': run.run === current.run && 'page' }
    const facts = element(
      'small',
      {},
      shortCommit(run.commit),
      ', ',
      createRunTime(run.sealedAt, timeAgo(run.sealedAt)),
    )
    const link = element('a', properties, runTitle(run), facts)
    onPlainClick(link, () => goTo(there))
    return element('li', {}, link)
  })
  find('other-runs').hidden = items.length < 2
  fill(find('run-list'), items)
  fillComparison(current, runs)
}

/** What the answers may be compared with. */
function fillComparison(current: Run, runs: Run[]): void {
  const others = runs.filter(({ run }) => run !== current.run)
  find('compare-choice').hidden = others.length === 0
  const select = find<HTMLSelectElement>('compare')
  const { value } = select
  fill(
    select,
    element('option', { value: '' }, 'nothing'),
    others.map((run) => element('option', { value: run.run }, `${runTitle(run)}, ${shortCommit(run.commit)}`)),
  )
  select.value = others.some(({ run }) => run === value) ? value : ''
}

function announceNewer({ goTo }: RunView, current: Run, runs: Run[]): void {
  const newer = runs.find(
    ({ ref, sealedAt }) => ref === current.ref && Date.parse(sealedAt) > Date.parse(current.sealedAt),
  )
  const note = find('newer-run')
  note.hidden = newer === undefined
  if (!newer) return
  const place = { repository: newer.repository, run: newer.run }
  const link = element('a', { href: addressOf(place) }, `Open commit ${shortCommit(newer.commit)}`)
  onPlainClick(link, () => goTo(place))
  fill(note, `There is a newer run of ${runTitle(newer)}. `, link)
}
