// Searches for secrets in all output of a test file's scenarios. Tests need no code of their own for this.
//
// It finds the keys itself: every credential in the headers of a request is a key. It also collects most texts itself:
// requests to emulators, HTTP responses of other servers, and command lines of processes. Test kits add logs, outputs and pages.
// A key may become known after a text that contains it, so the search runs at the end.

import type { RecordedRequest } from '../../src/emulators/faulty-server.js'
import { isScoped, serviceOf } from './call-log.js'
import { gramFinder } from './ngram-index.js'
import { encodings } from './secrets.js'

export interface SecretWatch {
  /** A secret that never opens a stand-in, such as one that signs. */
  addSecret(name: string, secret: string): void
  /** A text that people outside may see. */
  addText(where: string, text: string): void
  /** A request that a stand-in was asked. */
  addRequest(server: string, request: RecordedRequest): void
  /** The headers of a request that this process sends. Their credentials count as keys. */
  addHeaders(headers: Record<string, string>): void
  /** Looks through what was heard so far, and keeps it no longer. */
  look(): void
  /** What stands where it must not; and begins anew. */
  leaks(): string[]
  /** What was looked through since this was asked last: files may share a process. */
  scanned(): ScanFigures
}

export interface ScanFigures {
  keys: number
  texts: number
  characters: number
}

interface Key {
  name: string
  secret: string
  /** The servers that it opened. */
  opens: Set<string>
}

interface Text {
  where: string
  text: string
  /** The keys that may stand there. */
  may: (key: Key) => boolean
}

const shortest = 16
/** The same letter many times is no secret. */
const fewestSigns = 6
/** What was heard is looked through when there is so much of it. */
const most = 4_000_000
const nothing = () => false

export function watchSecrets(): SecretWatch {
  const keys = new Map<string, Key>()
  let texts: Text[] = []
  let heard = new Set<string>()
  let length = 0
  let found: string[] = []
  let looked: ScanFigures = { keys: 0, texts: 0, characters: 0 }

  const know = (name: string, secret: string, opens?: string) => {
    const known = keys.get(secret)
    if (!known && (secret.length < shortest || new Set(secret).size < fewestSigns)) return
    if (!known) looked.keys += 1
    const key = known ?? { name, secret, opens: new Set() }
    if (opens !== undefined) key.opens.add(opens)
    keys.set(secret, key)
  }
  const keep = (where: string, text: string, may: Text['may'] = nothing) => {
    if (text.length < 8 || heard.has(text)) return
    if (may === nothing) heard.add(text)
    texts.push({ where, text, may })
    length += text.length
    if (length > most) look()
  }
  const look = () => {
    const all = [...keys.values()]
    found.push(
      ...leaksAmong(all, texts),
      ...all.filter(opensOtherServices).map(({ name }) => `${name} in another's header`),
    )
    looked.texts += texts.length
    looked.characters += length
    texts = []
    heard = new Set()
    length = 0
    forgetTokens(keys)
  }
  return {
    look,
    scanned() {
      const until = looked
      looked = { keys: 0, texts: 0, characters: 0 }
      return until
    },
    addSecret: (name, secret) => know(name, secret),
    addText: (where, text) => keep(where, text),
    addHeaders: (headers) => {
      for (const secret of secretsOf(headers)) know('what a caller showed', secret)
    },
    addRequest(server, request) {
      for (const secret of secretsOf(request.headers)) know(`a key of ${server}`, secret, serviceOf(server, request))
      keep(`the address of a request to ${server}`, request.path)
      const plain = Object.entries(request.headers).filter(([name]) => !opening.has(name))
      keep(`a header to ${server}`, plain.map(([name, value]) => `${name}: ${value}`).join('\n'))
      const started = serviceOf(server, request) === 'sandboxes'
      const may = started ? allowedInSandbox : isTokenRequest(server, request) ? allowedInTokenRequest : nothing
      keep(`a request to ${server}`, request.body.toString('latin1'), may)
    },
    leaks() {
      look()
      const all = [...new Set(found)]
      found = []
      keys.clear()
      return all
    },
  }
}

/** GitHub is also a git host, and a sandbox's token opens the drive from inside and, when it is revoked, is named outside. */
const together = [new Set(['git', 'github']), new Set(['drive', 'inside'])]

const opensOtherServices = ({ opens }: Key) =>
  opens.size > 1 && !together.some((services) => [...opens].every((one) => services.has(one)))

/** A sandbox is given a token for its directory, and what it clones with. */
const allowedInSandbox = ({ secret, opens }: Key) => isScoped(secret) || opens.has('git')

/** GitHub takes the secret of an App, and the token that it is asked about, in the body. */
const isTokenRequest = (server: string, { path }: RecordedRequest) =>
  server === 'github' && /^\/(?:login\/oauth\/access_token|applications\/[^/]+\/token)$/.test(path)
const allowedInTokenRequest = ({ name, secret, opens }: Key) =>
  opens.has('github') || secret.startsWith('ghu_') || name === 'HANDOFF_APP_CLIENT_SECRET'

const opening = new Set(['authorization', 'x-api-key', 'x-access-token', 'proxy-authorization'])

export function secretsOf(headers: Record<string, string>): string[] {
  return Object.entries(headers).flatMap(([name, value]) => {
    if (!opening.has(name.toLowerCase())) return []
    const [, how = '', given = value] = /^(\w+) +(.+)$/.exec(value) ?? []
    if (!/^basic$/i.test(how)) return [given]
    return [Buffer.from(given, 'base64').toString().split(':').slice(1).join(':')]
  })
}

/** Thousands of workflows have thousands of tokens, for directories and for machines; the newest are the ones whose texts may still come. */
function forgetTokens(keys: Map<string, Key>): void {
  const ofOneWalk = ({ secret, opens }: Key) =>
    isScoped(secret) || (opens.has('sandboxes') && !secret.startsWith('e2b_'))
  for (const { secret } of [...keys.values()].filter(ofOneWalk).slice(0, -100)) keys.delete(secret)
}

/** One pass over each text for a few characters from the middle of every disguise; only where some stand is the whole of it looked for. */
function leaksAmong(keys: Key[], texts: Text[]): string[] {
  const byMiddle = new Map<string, { key: Key; form: string }[]>()
  for (const key of keys) {
    for (const form of encodings(key.secret).filter(({ length }) => length >= middle)) {
      const known = byMiddle.get(middleOf(form))
      if (known) known.push({ key, form })
      else byMiddle.set(middleOf(form), [{ key, form }])
    }
  }
  const finder = gramFinder(middle, [...byMiddle.keys()])
  return texts.flatMap(({ where, text, may }) => {
    const standing = new Set<Key>()
    finder.scan(text, (at) => {
      for (const { key, form } of byMiddle.get(text.slice(at, at + middle)) ?? [])
        if (text.startsWith(form, at - beforeMiddle(form))) standing.add(key)
    })
    return [...standing].filter((key) => !may(key)).map(({ name }) => `${name} in ${where}`)
  })
}

const middle = 8
const beforeMiddle = (form: string) => Math.floor((form.length - middle) / 2)
const middleOf = (form: string) => form.slice(beforeMiddle(form)).slice(0, middle)
