// The page: shows the view that the address names, and connects its parts.
import { silence } from './announce.js'
import { createApiClient, Problem } from './api-client.js'
import { closeCode, prepareCodePanel } from './code-panel.js'
import { element, fill, find, focusOn } from './dom.js'
import { prepareSearch } from './earlier-questions.js'
import { showProblem } from './error-panel.js'
import { plainName } from './format.js'
import { addressOf, type Place, readAddress } from './page-address.js'
import { prepareRun, showRun, showRunProblem, showThread } from './run-page.js'
import { createRunPicker } from './run-picker.js'
import type { RunView } from './run-view.js'
import { closeSheet, openSheet, prepareSheet } from './sheet.js'
import { findSession, prepareSignIn, showSignIn } from './sign-in.js'
import { prepareQuestionBox, stopAsking } from './thread.js'

const client = createApiClient()
const picker = createRunPicker({ client, open: goTo, handleSignOut })
let runView: RunView | undefined
let currentView = new AbortController()
let repositoriesOfReader: string[] = []

// ── views ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A place that is shown already is no new entry of the history. */
function goTo(place: Place): void {
  const address = addressOf(place)
  if (address !== location.pathname + location.search) history.pushState(null, '', address)
  void showAddressed()
}

async function showAddressed(): Promise<void> {
  stopAsking()
  closeSheet()
  const { repository, run, answer, ref, pull } = readAddress()
  if (runView && runView.place.run === run && runView.place.repository === repository)
    return showThread(runView, answer)
  currentView.abort()
  currentView = new AbortController()
  runView = undefined
  closeCode()
  if (!client.hasAccess()) return showWelcome()
  const { signal } = currentView
  if (repository && run) return openRun({ repository, run, answer }, signal)
  return repository && (ref || pull) ? openNewestRun(repository, { ref, pull }, signal) : showPicker(repository, signal)
}

function showOnly(id: 'welcome' | 'choose' | 'run', title?: string): void {
  for (const other of ['welcome', 'choose', 'run']) find(other).hidden = other !== id
  find('leave').hidden = id === 'welcome'
  find('where').hidden = id !== 'run'
  find('to-question').hidden = true
  document.title = title ? `${title} · handoff` : 'handoff'
  scrollTo(0, 0)
}

async function openRun(
  { repository, run, answer }: { repository: string; run: string; answer?: string | undefined },
  signal: AbortSignal,
): Promise<void> {
  showOnly('run', repository)
  const view = await showRun({ repository, run }, answer, { client, handleSignOut, goTo, onRevoked }, signal)
  if (!signal.aborted) runView = view
}

/** Finds the run that answers for a branch or a pull request. */
async function openNewestRun(
  repository: string,
  { ref, pull }: { ref?: string | undefined; pull?: string | undefined },
  signal: AbortSignal,
): Promise<void> {
  const name = ref ?? `pull request ${pull}`
  showOnly('run', repository)
  prepareRun({ repository, run: name })
  try {
    const { runs } = await client.newestRun({ repository, ...(ref ? { ref } : pull ? { pull } : {}) }, signal)
    history.replaceState(null, '', addressOf({ repository, run: runs[0]!.run }))
    await showAddressed()
  } catch (error) {
    if (!signal.aborted && !handleSignOut(error)) showRunProblem(name, error, showAddressed)
  }
}

async function showPicker(repository: string | undefined, signal: AbortSignal): Promise<void> {
  const isNew = find('choose').hidden
  showOnly('choose', 'Choose a run')
  signal.addEventListener('abort', picker.stop)
  const [only] = repositoriesOfReader
  const single = repositoriesOfReader.length === 1 && only !== undefined && !only.includes('*') ? only : undefined
  const named = repository ?? single
  find('choose-title').textContent = find('repository-form').hidden && named ? plainName(named) : 'Choose a run'
  const shown = named ? picker.show(named) : picker.reset()
  // The control that was used keeps the focus, unless it is gone.
  if (isNew || document.activeElement === document.body) focusOn(find('choose-title'))
  await shown
}

// ── getting in ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Reads what the reader may see, and shows what the address names. */
async function enter(): Promise<void> {
  const { repositories, models = [] } = await client.repositories()
  picker.offer(repositories)
  offerModels(models)
  repositoriesOfReader = repositories
  await showAddressed()
}

function showWelcome(): void {
  showOnly('welcome')
  showSignIn()
}

/** The first one answers unless another is chosen. One alone is no choice. */
function offerModels(models: string[]): void {
  find('model-choice').hidden = models.length < 2
  const options = models.map((name, index) => element('option', { value: index === 0 ? '' : name }, plainName(name)))
  fill(find('model'), options)
}

/** An error that means that the reader is not known any more: shows the way in, with the reason. */
function handleSignOut(error: unknown): boolean {
  if (!(error instanceof Problem) || error.document.status !== 401) return false
  signOut().catch(alreadyShown)
  showProblem(find('token-problem'), error)
  return true
}

/** Forgets the token or ends the session, and removes everything that it showed. Rejects if the service did not end the session. */
function signOut(): Promise<void> {
  const ended = client.signOut()
  silence()
  repositoriesOfReader = []
  currentView.abort()
  runView = undefined
  closeSheet()
  for (const place of document.querySelectorAll('[data-shown-for-token]')) fill(place)
  for (const id of ['question', 'repository', 'earlier-search']) find<HTMLInputElement>(id).value = ''
  void showAddressed()
  return ended
}

/** The session had ended by itself, and the reader sees that. */
const alreadyShown = () => undefined

/** The cookie of the session is out of reach of this page. */
function showStillSignedIn(): void {
  showProblem(
    find('token-problem'),
    new Problem({
      title: 'You may still be signed in',
      detail: 'The service did not answer when this page ended your session.',
      next: 'Reload the page and sign out again, above all on a computer that others use.',
    }),
  )
}

function onRevoked(): void {
  signOut().catch(alreadyShown)
  showProblem(
    find('token-problem'),
    new Problem({
      title: 'You are not known here any more',
      detail: 'The token was revoked or expired, or the session ended.',
      next: 'Sign in again, or ask the operator of this service for a new token.',
    }),
  )
}

// ── listeners ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

find('leave').addEventListener('click', () => signOut().catch(showStillSignedIn))
find('open-contents').addEventListener('click', () => openSheet('contents'))
find('to-runs').addEventListener('click', () => {
  const { repository } = readAddress()
  goTo(repository ? { repository } : {})
})
find('home').addEventListener('click', (event) => {
  event.preventDefault()
  goTo({})
})
addEventListener('popstate', () => void showAddressed())
prepareSheet()
prepareCodePanel()
prepareSearch()
prepareSignIn({ client, enter })
prepareQuestionBox(() => runView)
if (!(await findSession({ client, enter }).catch(() => false))) await showAddressed()
