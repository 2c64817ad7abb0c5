// What a browser does when a person signs in: it keeps cookies by host and follows redirects. And a deployment at which people sign in.
import { type LocalGitHub, startGitHub } from '../../../src/emulators/github/server.js'
import type { Repository, User } from '../../../src/emulators/github/state.js'
import { type Deployment, deploy, name, repositoryId } from '../kit.js'

export const sessionSecret = 'a-session-secret-of-32-characters-or-more'

export interface SignInDeployment extends AsyncDisposable {
  here: Deployment
  github: LocalGitHub
  repository: Repository
  /** The settings of signing in. */
  settings: Record<string, string>
}

/** GitHub, a private repository with the App, and a deployment that knows both. */
export async function deployWithSignIn(environment: Record<string, string> = {}): Promise<SignInDeployment> {
  const options: Parameters<typeof startGitHub>[0] = {}
  const github = await startGitHub(options)
  const repository = github.addRepository({ name, id: Number(repositoryId), private: true, app: true })
  const settings = {
    GITHUB_API_URL: github.apiUrl,
    HANDOFF_APP_CLIENT_ID: github.userFlow.clientId,
    HANDOFF_APP_CLIENT_SECRET: github.userFlow.clientSecret,
    HANDOFF_SESSION_SECRET: sessionSecret,
    HANDOFF_SIGN_IN_REPOSITORIES: 'octo/*',
  }
  const here = await deploy({ serverUrl: github.url, environment: { ...settings, ...environment } })
  options.gitUrl = here.stack.remote.url
  registerCallback(github, here.url)
  const close = async () => {
    await here.close()
    await github.close()
  }
  return { here, github, repository, settings, [Symbol.asyncDispose]: close }
}

export const registerCallback = (github: LocalGitHub, url: string) =>
  github.userFlow.callbacks.push(`${url}/api/auth/callback`)

/** A person who may read the repository. */
export function addReader({ github, repository }: SignInDeployment, login: string): User {
  const user = github.addUser(login)
  repository.collaborators.set(login.toLowerCase(), 'read')
  return user
}

export class Browser {
  readonly cookies = new Map<string, string>()
  /** As they were set. */
  readonly setCookies: string[] = []
  readonly url: string

  constructor(url: string) {
    this.url = url
  }

  /** One request, without following a redirect. */
  async send(address: string, init: RequestInit = {}): Promise<Response> {
    const url = new URL(address, this.url)
    const own = url.origin === new URL(this.url).origin
    const headers = new Headers(init.headers)
    const cookie = [...this.cookies].map(([key, value]) => `${key}=${value}`).join('; ')
    if (own && cookie !== '') headers.set('cookie', cookie)
    headers.set('user-agent', 'a browser')
    const response = await fetch(url, { ...init, headers, redirect: 'manual' })
    for (const line of own ? response.headers.getSetCookie() : []) this.#keep(line)
    return response
  }

  #keep(line: string): void {
    this.setCookies.push(line)
    const [pair = '', ...attributes] = line.split('; ')
    const key = pair.slice(0, pair.indexOf('='))
    if (attributes.includes('Max-Age=0')) this.cookies.delete(key)
    else this.cookies.set(key, pair.slice(key.length + 1))
  }

  /** Follows redirects until a page of the service would be shown. Returns its address. */
  async visit(address: string): Promise<string> {
    for (let next = address; ; ) {
      const response = await this.send(next)
      await response.text()
      const location = response.headers.get('location')
      if (location === null) return next
      const landed = new URL(location, new URL(next, this.url))
      next = landed.href
      if (landed.origin === new URL(this.url).origin && !landed.pathname.startsWith('/api/')) return next
    }
  }

  signIn(back = '/'): Promise<string> {
    return this.visit(`/api/auth/login?return=${encodeURIComponent(back)}`)
  }

  /** As a script of the page sends it. */
  async call(path: string, method = 'GET', body?: unknown, headers: Record<string, string> = {}) {
    const sent = {
      ...(method === 'GET' ? {} : { origin: this.url }),
      'sec-fetch-site': 'same-origin',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    }
    const response = await this.send(path, {
      method,
      headers: sent,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = (response.headers.get('content-type') ?? '').includes('json')
    return {
      status: response.status,
      headers: response.headers,
      body: (isJson ? JSON.parse(text) : text) as ReturnType<typeof JSON.parse>,
    }
  }
}
