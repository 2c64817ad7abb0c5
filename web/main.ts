// The page: shows the view that the address names, and connects its parts.
import { createAnswer } from './answer.js'
import { refreshHistory, showHistory } from './answer-history.js'
import { createApiClient, Problem } from './api-client.js'
import type { Question, RunAddress, WholeRun } from './api-types.js'
import { askQuestion } from './ask-question.js'
import { closeCode, openCode, prepareCodeViewer } from './code-viewer.js'
import { element, fill, find, focusOn } from './dom.js'
import { clearProblem, showProblem } from './error-panel.js'
import { plainName } from './format.js'
import { linksTo } from './links.js'
import { addressOf, type Place, readAddress } from './page-address.js'
import { setAsking } from './retry-buttons.js'
import { createRunPicker } from './run-picker.js'
import { awaitSummary, showFacts, showSummary } from './run-summary.js'
import type { RunView } from './run-view.js'

const client = createApiClient()
const picker = createRunPicker({ client, open: goTo, handleSignOut })
let runView: RunView | undefined
let asking: AbortController | undefined
let currentView = new AbortController()
let repositoriesOfToken: string[] = []

const tokenField = find<HTMLInputElement>('token')
const questionField = find<HTMLTextAreaElement>('question')
const freshBox = find<HTMLInputElement>('fresh')

// ── views ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A place that is shown already is no new entry of the history. */
function goTo(place: Place): void {
  const address = addressOf(place)
  if (address !== location.pathname + location.search) history.pushState(null, '', address)
  void showAddressed()
}

async function showAddressed(): Promise<void> {
  currentView.abort()
  currentView = new AbortController()
  asking?.abort()
  closeCode()
  if (!client.hasToken()) return showTokenForm()
  const { signal } = currentView
  const { repository, run, ref, pull } = readAddress()
  if (repository && run) return showRun({ repository, run }, signal)
  return repository && (ref || pull) ? showNewestRun(repository, { ref, pull }, signal) : showPicker(repository, signal)
}

function showOnly(id: 'welcome' | 'choose' | 'run', title?: string): void {
  for (const other of ['welcome', 'choose', 'run']) find(other).hidden = other !== id
  find('leave').hidden = id === 'welcome'
  find('where').hidden = id !== 'run'
  document.title = title ? `${title} · handoff` : 'handoff'
  scrollTo(0, 0)
}

let announcement: ReturnType<typeof setTimeout> | undefined
/** Tells screen readers. Of several sentences at once they read the last one. */
function announce(text: string): void {
  clearTimeout(announcement)
  announcement = setTimeout(() => {
    find('status').textContent = text
  }, 150)
}

// ── the token ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

function showTokenForm(): void {
  showOnly('welcome')
  const { repository, run } = readAddress()
  const link = repository && run && `This link opens run ${plainName(run).slice(0, 7)} of ${plainName(repository)}.`
  find('invitation').hidden = !link
  find('invitation').textContent = link ?? ''
  find('token-form').hidden = false
  tokenField.focus()
}

async function signIn(event: Event): Promise<void> {
  event.preventDefault()
  const submit = find<HTMLButtonElement>('enter')
  clearProblem(find('token-problem'))
  submit.disabled = true
  try {
    client.setToken(tokenField.value.trim())
    const { repositories } = await client.repositories()
    tokenField.value = ''
    picker.offer(repositories)
    repositoriesOfToken = repositories
    await showAddressed()
  } catch (error) {
    client.forgetToken()
    showProblem(find('token-problem'), error)
    tokenField.focus()
  } finally {
    submit.disabled = false
  }
}

/** An error that means that the token is not valid: shows the token form with the reason. */
function handleSignOut(error: unknown): boolean {
  if (!(error instanceof Problem) || error.document.status !== 401) return false
  signOut()
  showProblem(find('token-problem'), error)
  return true
}

/** Forgets the token and removes everything that it showed. */
function signOut(): void {
  client.forgetToken()
  clearTimeout(announcement)
  repositoriesOfToken = []
  runView = undefined
  for (const place of document.querySelectorAll('[data-shown-for-token]')) fill(place)
  questionField.value = ''
  find<HTMLInputElement>('repository').value = ''
  void showAddressed()
}

// ── the choice of a run ───────────────────────────────────────────────────────────────────────────────────────────────────────────

async function showPicker(repository: string | undefined, signal: AbortSignal): Promise<void> {
  const isNew = find('choose').hidden
  showOnly('choose', 'Choose a run')
  signal.addEventListener('abort', picker.stop)
  const [only] = repositoriesOfToken
  const single = repositoriesOfToken.length === 1 && only !== undefined && !only.includes('*') ? only : undefined
  const named = repository ?? single
  find('choose-title').textContent = find('repository-form').hidden && named ? plainName(named) : 'Choose a run'
  const shown = named ? picker.show(named) : picker.reset()
  // The control that was used keeps the focus, unless it is gone.
  if (isNew || document.activeElement === document.body) focusOn(find('choose-title'))
  await shown
}

// ── a run ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Finds the run that answers for a branch or a pull request. */
async function showNewestRun(
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
    if (!signal.aborted && !handleSignOut(error)) showRunProblem(name, error)
  }
}

function showRunProblem(run: string, error: unknown): void {
  fill(find('summary'))
  find('summary-fold').hidden = true
  fill(find('run-facts'), element('code', {}, plainName(run).slice(0, 24)))
  showProblem(find('run-problem'), error, { retry: showAddressed })
}

async function showRun(place: RunAddress, signal: AbortSignal): Promise<void> {
  showOnly('run', place.repository)
  prepareRun(place)
  focusOn(find('run-title'))
  try {
    const run = await client.run(place, signal)
    runView = createRunView(place, run, signal)
    showFacts(run)
    showSummary(run, runView.link)
    find('asking').hidden = false
    await showHistory(runView)
  } catch (error) {
    if (!signal.aborted && !handleSignOut(error)) showRunProblem(place.run, error)
  }
}

function prepareRun(place: RunAddress): void {
  runView = undefined
  find('run-title').textContent = plainName(place.repository)
  fill(find('run-facts'), element('span', {}, 'Opening ', element('code', {}, plainName(place.run).slice(0, 24))))
  clearProblem(find('run-problem'))
  find('run-note').hidden = true
  find('asking').hidden = true
  const fold = find<HTMLDetailsElement>('summary-fold')
  fold.hidden = false
  fold.open = !matchMedia('(max-width: 60rem)').matches
  awaitSummary()
  fill(find('answers'))
  fill(find('earlier-list'))
}

function createRunView(place: RunAddress, run: WholeRun, signal: AbortSignal): RunView {
  const view: RunView = {
    client,
    place,
    signal,
    announce,
    handleSignOut,
    link: linksTo({ host: run.handoff?.host, repository: run.handoff?.repository ?? place.repository }),
    openCitation: (citation, answer) => void openCode(citation, answer, view),
    ask: (question) => void ask(view, question),
    askAgain: (question, earlier) => void startAsking(view, question, earlier),
    showStoredAnswers: () => refreshHistory(view),
  }
  return view
}

// ── asking ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

function ask(view: RunView, text: string): Promise<void> {
  const question = { ...view.place, question: text }
  return startAsking(view, freshBox.checked ? { ...question, fresh: true } : question)
}

/** The new answer replaces `earlier`. A reader who asks from elsewhere than the form is led to the new answer. */
async function startAsking(view: RunView, question: Question, earlier?: Element): Promise<void> {
  if (asking || view !== runView) return
  const own = new AbortController()
  asking = own
  const parts = createAnswer(question.question)
  const isFromForm = find('ask-form').contains(document.activeElement)
  earlier?.remove()
  find('answers').prepend(parts.node)
  scrollIntoView(parts.node)
  if (!isFromForm) focusOn(parts.title)
  showAsking(true)
  const outcome = await askQuestion(question, view, parts, own.signal)
  asking = undefined
  showAsking(false, parts.title)
  if (outcome === 'unauthorized') showRevokedToken()
  if (outcome !== 'answered') return
  removeSameAnswers(parts.node)
  if (questionField.value.trim() === question.question) {
    questionField.value = ''
    freshBox.checked = false
  }
}

/** The same answer is shown once. */
function removeSameAnswers(node: HTMLElement): void {
  for (const other of find('answers').querySelectorAll<HTMLElement>('[data-answer]'))
    if (other !== node && other.dataset['answer'] === node.dataset['answer']) other.remove()
}

/** On a phone the form above the answer fills the screen; after "Ask again" the answer may be far above. */
function scrollIntoView(node: HTMLElement): void {
  const { top } = node.getBoundingClientRect()
  if (top < 0 || top > innerHeight * 0.7) node.scrollIntoView({ block: 'start' })
}

function showRevokedToken(): void {
  signOut()
  showProblem(
    find('token-problem'),
    new Problem({
      title: 'The token is not accepted any more',
      detail: 'It was revoked, or it expired.',
      next: 'Ask the operator of this service for a new one.',
    }),
  )
}

function showAsking(now: boolean, title?: HTMLElement): void {
  const stop = find('stop')
  if (title && document.activeElement === stop) focusOn(title)
  stop.hidden = !now
  setAsking(now)
  find('ask').textContent = now ? 'Asking' : 'Ask'
}

// ── listeners ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

find('token-form').addEventListener('submit', signIn)
find('leave').addEventListener('click', signOut)
find('to-runs').addEventListener('click', () => {
  const repository = runView?.place.repository ?? readAddress().repository
  goTo(repository ? { repository } : {})
})
find('home').addEventListener('click', (event) => {
  event.preventDefault()
  goTo({})
})
find('ask-form').addEventListener('submit', (event) => {
  event.preventDefault()
  const text = questionField.value.trim()
  if (text !== '' && runView) void ask(runView, text)
})
questionField.addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) find<HTMLFormElement>('ask-form').requestSubmit()
})
find('stop').addEventListener('click', () => {
  asking?.abort()
  announce('Stopped.')
  questionField.focus()
})
addEventListener('popstate', () => void showAddressed())
prepareCodeViewer()
void showAddressed()
