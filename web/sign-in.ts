// How a reader gets in: with a token that stays in the page's memory, or as a person of GitHub, whose session is a cookie.
import { type ApiClient, Problem } from './api-client.js'
import { find } from './dom.js'
import { clearProblem, showProblem } from './error-panel.js'
import { plainName } from './format.js'
import { readAddress } from './page-address.js'

interface SignInOptions {
  client: ApiClient
  /** What the reader may see is asked for, and the page shows it. */
  enter: () => Promise<void>
}

const tokenField = () => find<HTMLInputElement>('token')

/** What GitHub or its way back said, by the word in the address. */
const outcomes: Record<string, [title: string, detail: string]> = {
  denied: ['You did not allow it', 'GitHub asked whether this service may know who you are, and the answer was no.'],
  expired: ['It took too long', 'The way over GitHub was not finished in time, or in another browser.'],
  suspended: ['The App is suspended', 'The operator of this service has suspended its GitHub App.'],
  failed: ['GitHub did not sign you in', 'It refused, or it did not answer.'],
}

/** A session that stands already lets the reader in. */
export async function findSession({ client, enter }: SignInOptions): Promise<boolean> {
  const state = await client.session().catch(() => undefined)
  find('sign-in').hidden = !state?.offered
  if (!state?.signedIn) return false
  find('person').textContent = plainName(state.user?.login ?? '')
  find('leave').textContent = 'Sign out'
  await enter()
  return true
}

export function showSignIn(): void {
  const { repository, run, signin, ...rest } = readAddress()
  const link = repository && run && `This link opens run ${plainName(run).slice(0, 7)} of ${plainName(repository)}.`
  find('invitation').hidden = !link
  find('invitation').textContent = link ?? ''
  find('token-form').hidden = false
  const place = new URLSearchParams(
    Object.entries({ repository, run, ...rest }).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
  const back = new URLSearchParams({ return: place.size > 0 ? `/?${place}` : '/' })
  find<HTMLAnchorElement>('sign-in-link').href = `/api/auth/login?${back}`
  const outcome = signin !== undefined && Object.hasOwn(outcomes, signin) ? outcomes[signin] : undefined
  if (outcome) showOutcome(outcome)
  if (find('sign-in').hidden) tokenField().focus()
  else find('sign-in-link').focus()
}

function showOutcome([title, detail]: [string, string]): void {
  const next = 'Sign in again, or enter a token.'
  showProblem(find('sign-in-problem'), new Problem({ title, detail, next }))
}

export function prepareSignIn({ client, enter }: SignInOptions): void {
  find('token-form').addEventListener('submit', async (event) => {
    event.preventDefault()
    const submit = find<HTMLButtonElement>('enter')
    clearProblem(find('token-problem'))
    submit.disabled = true
    try {
      client.setToken(tokenField().value.trim())
      find('leave').textContent = 'Forget token'
      await enter()
      tokenField().value = ''
    } catch (error) {
      void client.signOut()
      showProblem(find('token-problem'), error)
      tokenField().focus()
    } finally {
      submit.disabled = false
    }
  })
}
