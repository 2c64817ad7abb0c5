// The page people ask on. A map:
//
//   script.js     which view is shown, and what joins the parts
//   requests.js   the ask service over HTTP; holds the token      events.js    server-sent events
//   runs.js       choosing a repository and a run                 summary.js   a run's own page, from the top
//   earlier.js    what was asked before                           problem.js   what went wrong and what to do
//   asking.js     a question on its way to its answer             finding.js   what became of it when the connection was lost
//   timeline.js   the steps and the machine, as they happen
//   answer.js     an answer with its citations                    code.js      the lines a citation names
//   again.js      buttons that ask once more
//   markdown.js   a model's words as nodes, with inlines.js       links.js     where a link may lead
//   elements.js, words.js, citation.js                            small things that many need
//
// Where the reader is stands in the address (`/?repository=owner/name&run=…`; `ref=main` and `pull=7` lead to the newest run), so that it can
// be shared and gone back to. The token does not.
import { setUnderWay } from './retry-buttons.js'
import { makeAnswer } from './answer.js'
import { askAndShow } from './ask-question.js'
import { openCode, prepareCode } from './code-viewer.js'
import { lookAgain, showEarlier } from './answer-history.js'
import { element, fill, find, focusOn } from './dom.js'
import { linksOf } from './links.js'
import { clearProblem, showProblem } from './error-panel.js'
import { makeService, Problem } from './api-client.js'
import { addressOf, makeChooser } from './run-picker.js'
import { showFacts, showSummary } from './run-summary.js'
import { plainName } from './format.js'

const service = makeService()
const chooser = makeChooser({ service, open: (place) => go(place), failed: signedOut })
let desk
let asking
let view = new AbortController()

// ── where the reader is ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const placeInAddress = () => {
  const query = new URLSearchParams(location.search)
  return Object.fromEntries(['repository', 'run', 'ref', 'pull'].map((name) => [name, query.get(name) ?? undefined]))
}

/** The same place once more is no step: Back leads to the one before. */
function go(place) {
  const address = place.run || place.repository ? addressOf(place) : '/'
  if (address !== location.pathname + location.search) history.pushState(null, '', address)
  show()
}

/** Shows what the address names. */
async function show() {
  view.abort()
  view = new AbortController()
  asking?.abort()
  if (find('code').open) find('code').close()
  if (!service.hasToken()) return welcome()
  const { repository, run, ref, pull } = placeInAddress()
  if (repository && run) return showRun({ repository, run }, view.signal)
  if (repository && (ref || pull)) return showNewest({ repository, ref, pull }, view.signal)
  return showChoice(repository, view.signal)
}

function only(id, title) {
  for (const other of ['welcome', 'choose', 'run']) find(other).hidden = other !== id
  find('leave').hidden = id === 'welcome'
  find('where').hidden = id !== 'run'
  document.title = title ? `${title} · handoff` : 'handoff'
  scrollTo(0, 0)
}

let lastSaid
/** Tells those who listen. Only what changes what they would do next is said. */
function say(text) {
  clearTimeout(lastSaid)
  lastSaid = setTimeout(() => {
    find('status').textContent = text
  }, 150)
}

// ── the token ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

function welcome() {
  only('welcome')
  const { repository, run } = placeInAddress()
  const invitation = find('invitation')
  invitation.hidden = !(repository && run)
  invitation.textContent =
    repository && run ? `This link opens run ${plainName(run).slice(0, 7)} of ${plainName(repository)}.` : ''
  find('token-form').hidden = false
  find('token').focus()
}

async function enter(event) {
  event.preventDefault()
  const field = find('token')
  const button = find('enter')
  clearProblem(find('token-problem'))
  button.disabled = true
  try {
    service.setToken(field.value.trim())
    const { repositories } = await service.repositories()
    field.value = ''
    chooser.offer(repositories)
    offered = repositories
    await show()
  } catch (error) {
    service.forgetToken()
    showProblem(find('token-problem'), error)
    field.focus()
  } finally {
    button.disabled = false
  }
}

let offered = []

/** An error that means the token is no good: back to the door, with the reason. */
function signedOut(error) {
  if (!(error instanceof Problem) || error.document.status !== 401) return false
  leave()
  showProblem(find('token-problem'), error)
  return true
}

function leave() {
  service.forgetToken()
  clearTimeout(lastSaid)
  offered = []
  desk = undefined
  for (const place of document.querySelectorAll('[data-shown-for-token]')) fill(place)
  find('question').value = ''
  find('repository').value = ''
  show()
}

// ── choosing ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

async function showChoice(repository, signal) {
  const arriving = find('choose').hidden
  only('choose', 'Choose a run')
  signal.addEventListener('abort', chooser.stop)
  const named = repository ?? (offered.length === 1 && !offered[0].includes('*') ? offered[0] : undefined)
  find('choose-title').textContent = find('repository-form').hidden && named ? plainName(named) : 'Choose a run'
  const shown = named ? chooser.show(named) : chooser.reset()
  // What was pressed keeps the keyboard, unless it is gone.
  if (arriving || document.activeElement === document.body) focusOn(find('choose-title'))
  await shown
}

// ── a run ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A branch or a pull request is followed to the run that answers for it. */
async function showNewest({ repository, ref, pull }, signal) {
  only('run', repository)
  prepareRun({ repository, run: ref ?? `pull request ${pull}` })
  try {
    const { runs } = await service.runOf({ repository, ref, pull: ref ? undefined : pull }, signal)
    history.replaceState(null, '', addressOf({ repository, run: runs[0].run }))
    await show()
  } catch (error) {
    if (signal.aborted || signedOut(error)) return
    notOpened(ref ?? `pull request ${pull}`, error)
  }
}

/** Nothing waits for a summary that will not come. */
function notOpened(run, error) {
  fill(find('summary'))
  find('summary-fold').hidden = true
  fill(find('run-facts'), element('code', {}, plainName(run).slice(0, 24)))
  showProblem(find('run-problem'), error, () => show())
}

async function showRun(place, signal) {
  only('run', place.repository)
  prepareRun(place)
  focusOn(find('run-title'))
  try {
    const run = await service.run(place, signal)
    openDesk(place, run, signal)
    await showEarlier(desk, signal)
  } catch (error) {
    if (signal.aborted || signedOut(error)) return
    notOpened(place.run, error)
  }
}

function prepareRun(place) {
  desk = undefined
  find('run-title').textContent = plainName(place.repository)
  fill(find('run-facts'), element('span', {}, 'Opening ', element('code', {}, plainName(place.run).slice(0, 24))))
  clearProblem(find('run-problem'))
  find('run-note').hidden = true
  find('asking').hidden = true
  find('summary-fold').hidden = false
  find('summary-fold').open = !matchMedia('(max-width: 60rem)').matches
  fill(find('summary'), element('p', { class: 'loading', role: 'status' }, 'Reading the summary'))
  fill(find('answers'))
  fill(find('earlier-list'))
}

function openDesk(place, run, signal) {
  const links = linksOf({
    host: run.handoff?.host,
    repository: run.handoff?.repository ?? place.repository,
    commit: run.commit,
  })
  desk = {
    service,
    place,
    links,
    say,
    failed: signedOut,
    follow: (citation, answer) =>
      openCode(citation, answer, links, {
        load: () => service.lines(place, citation, answer.id, signal),
        failed: signedOut,
      }),
    ask,
    retry: startAsking,
    look: () => lookAgain(desk, signal),
  }
  showFacts(run)
  showSummary(run, links)
  find('asking').hidden = false
}

// ── asking ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

function ask(text) {
  const question = { repository: desk.place.repository, run: desk.place.run, question: text }
  return startAsking(find('fresh').checked ? { ...question, fresh: true } : question)
}

/** `instead` is an earlier try that this one takes the place of. Whoever asks from elsewhere than the form is led to where the answer will be. */
async function startAsking(question, instead) {
  if (asking || !desk) return
  const own = new AbortController()
  asking = own
  const parts = makeAnswer(question.question)
  const fromElsewhere = !find('ask-form').contains(document.activeElement)
  instead?.remove()
  find('answers').prepend(parts.node)
  bringIntoView(parts.node)
  if (fromElsewhere) focusOn(parts.title)
  working(true)
  const ending = await askAndShow(question, desk, parts, own.signal)
  asking = undefined
  working(false, parts)
  if (ending === 'unauthorized') leaveWith()
  if (ending === 'answered') keepOnce(parts.node)
  if (ending === 'answered' && find('question').value.trim() === question.question) {
    find('question').value = ''
    find('fresh').checked = false
  }
}

/** The same answer again takes the place of what stands further down. */
function keepOnce(node) {
  for (const other of find('answers').children)
    if (other !== node && other.dataset.answer === node.dataset.answer) other.remove()
}

/** What happens should be seen: on a phone the form above it fills the screen, and whoever asks again may be far below. */
function bringIntoView(node) {
  const { top } = node.getBoundingClientRect()
  if (top < 0 || top > innerHeight * 0.7) node.scrollIntoView({ block: 'start' })
}

function leaveWith() {
  leave()
  showProblem(
    find('token-problem'),
    new Problem({
      title: 'The token is not accepted any more',
      detail: 'It was taken back, or it ran out.',
      next: 'Ask whoever runs this service for a new one.',
    }),
  )
}

function working(now, parts) {
  const stop = find('stop')
  if (!now && document.activeElement === stop) focusOn(parts.title)
  stop.hidden = !now
  setUnderWay(now)
  find('ask').textContent = now ? 'Asking' : 'Ask'
}

// ── listeners ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

find('token-form').addEventListener('submit', enter)
find('leave').addEventListener('click', leave)
find('to-runs').addEventListener('click', () =>
  go({ repository: desk?.place.repository ?? placeInAddress().repository }),
)
find('home').addEventListener('click', (event) => {
  event.preventDefault()
  go({})
})
find('ask-form').addEventListener('submit', (event) => {
  event.preventDefault()
  const text = find('question').value.trim()
  if (text !== '' && !asking) ask(text)
})
find('question').addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) find('ask-form').requestSubmit()
})
find('stop').addEventListener('click', () => {
  asking?.abort()
  say('Stopped.')
  find('question').focus()
})
addEventListener('popstate', show)
prepareCode()
show()
