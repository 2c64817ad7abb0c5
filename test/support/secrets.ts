// Looks for every key in play, and its usual disguises, everywhere where none may be.
import { inspect } from 'node:util'
import type { RecordedRequest } from '../../src/emulators/faulty-server.js'
import type { Clouds } from '../../src/emulators/start-all.js'
import type { RunEvent } from '../../src/handoff/index.js'

/** Of the secrets that were looked for lately: thousands of workflows have thousands of tokens. */
const known = new Map<string, string[]>()
const mostKnown = 300

/** What a secret looks like after the transforms people forget about. */
export function encodings(secret: string): string[] {
  const before = known.get(secret)
  if (before) return before
  const made = disguise(secret)
  if (known.size >= mostKnown) known.clear()
  known.set(secret, made)
  return made
}

function disguise(secret: string): string[] {
  const bytes = Buffer.from(secret)
  // In base64 the same bytes look different at each of three offsets; the edges depend on the neighbours and are left out.
  const shifted = [0, 1, 2].map((offset) =>
    Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .slice(offset === 0 ? 0 : 4, -4),
  )
  const forms = [
    secret,
    ...shifted,
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    encodeURIComponent(secret),
    JSON.stringify(secret).slice(1, -1),
    ...shifted.map((form) => form.replaceAll('+', '-').replaceAll('/', '_')),
    ...pieces(secret),
  ]
  return [...new Set(forms)]
}

/** Parts of a long key. A large part is as dangerous as the whole key, and messages are cut. Keys of one kind begin alike. */
function pieces(secret: string): string[] {
  if (secret.length < 96) return []
  return [0.5, 0.65, 0.8].map((share) => secret.slice(Math.floor(secret.length * share)).slice(0, 24))
}

export function leaksIn(where: string, text: string, secrets: Record<string, string>): string[] {
  return Object.entries(secrets).flatMap(([name, secret]) =>
    secret.length >= 8 && encodings(secret).some((disguise) => disguise.length >= 8 && text.includes(disguise))
      ? [`${name} in ${where}`]
      : [],
  )
}

/** Finds secrets in what a scenario returned or stored outside the clouds: answers, comments, logs and errors, in every printed form. */
export function leaksInValues(values: Record<string, unknown>, secrets: Record<string, string>): string[] {
  return Object.entries(values).flatMap(([name, value]) =>
    [
      String(value),
      JSON.stringify(value) ?? '',
      inspect(value, { depth: 12, showHidden: true, getters: true }),
    ].flatMap((text) => leaksIn(name, text, secrets)),
  )
}

/** The keys of the clouds, by the name they have in a complaint. */
export function keysOf(clouds: Required<Clouds>): Record<string, string> {
  return {
    'the key of the sandboxes': clouds.sandboxes.settings.E2B_API_KEY,
    "the drive's owner key": clouds.drive.ownerKey,
    "the model's key": clouds.model.key,
  }
}

/** Every token that opened a directory for a sandbox. */
function scopedTokens(clouds: Required<Clouds>): Record<string, string> {
  const commands = clouds.sandboxes.sandboxes.flatMap((sandbox) => sandbox.commands)
  const tokens = new Set(
    commands.map((command) => command.environment['DRIVE9_API_KEY']).filter((token) => token !== undefined),
  )
  const every = Math.ceil(tokens.size / mostTokens)
  const chosen = [...tokens].filter((_, index) => index % every === 0)
  return Object.fromEntries(chosen.map((token, index) => [`the scoped token ${index + 1}`, token]))
}

/** After thousands of workflows some of the tokens stand for all. */
const mostTokens = 40

const distinct = (texts: string[]) => [...new Set(texts)].join('\n')

/**
 * After a scenario: the drive's bytes, what was said, what was run, what the model was shown, and what each cloud received of the others' keys.
 * `more` are further secrets, the credential for cloning first.
 */
export function leaksOf(clouds: Required<Clouds>, events: RunEvent[], more: string[]): string[] {
  const keys = {
    ...keysOf(clouds),
    ...Object.fromEntries(more.map((secret, index) => [`secret ${index + 1}`, secret])),
  }
  const scoped = scopedTokens(clouds)
  const all = { ...keys, ...scoped }
  const commands = clouds.sandboxes.sandboxes.flatMap((sandbox) => sandbox.commands)
  const { 'secret 1': _clone, ...neverInside } = keys as Record<string, string>
  return [
    ...clouds.drive
      .readAll()
      .flatMap(({ path, bytes }) => leaksIn(`the stored file ${path}`, bytes.toString('latin1'), all)),
    ...leaksInValues({ 'an event': events }, all),
    ...leaksIn(
      'the text of a command',
      distinct(commands.flatMap(({ command, arguments: words }) => [command, ...words])),
      all,
    ),
    // A scoped token may stand in a command's environment, and so may the credential for cloning; the keys may not.
    ...leaksIn(
      "a command's environment",
      distinct(commands.flatMap(({ environment }) => Object.values(environment))),
      neverInside,
    ),
    ...leaksIn('a prompt', distinct(clouds.model.prompts.map(({ text }) => text)), all),
    ...leaksBetween(clouds, all),
  ]
}

/** Each cloud learns its own key in its own header, and nothing of the others'. */
function leaksBetween(clouds: Required<Clouds>, all: Record<string, string>): string[] {
  const { sandboxes, drive, model } = clouds
  const reported = (name: string, requests: readonly RecordedRequest[], ...own: string[]) => {
    const others = Object.fromEntries(Object.entries(all).filter(([key]) => !own.includes(key)))
    return [
      ...leaksIn(`the address of a request to ${name}`, distinct(requests.map(({ path }) => path)), all),
      ...leaksIn(`a request to ${name}`, distinct(requests.flatMap(({ headers }) => Object.values(headers))), others),
    ]
  }
  const scoped = Object.keys(all).filter((name) => name.startsWith('the scoped token'))
  return [
    // What a command is started with goes through the service of the sandboxes, in bodies that are looked at as environments above.
    ...reported('the sandboxes', sandboxes.requests, 'the key of the sandboxes'),
    ...reported('the drive', drive.requests, "the drive's owner key", ...scoped),
    ...reported('the model', model.requests, "the model's key"),
  ]
}
