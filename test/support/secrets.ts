// Looks for every key in play, and its usual disguises, everywhere where none may be.
import type { RunEvent } from '../../src/handoff/index.js'
import type { Clouds } from '../../src/local/clouds.js'

/** What a secret looks like after the transforms people forget about. */
export function disguises(secret: string): string[] {
  const bytes = Buffer.from(secret)
  // In base64 the same bytes look different at each of three offsets; the edges depend on the neighbours and are left out.
  const shifted = [0, 1, 2].map((offset) =>
    Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .slice(offset === 0 ? 0 : 4, -4),
  )
  return [
    secret,
    ...shifted,
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    [...secret].reverse().join(''),
    encodeURIComponent(secret),
  ]
}

export function leaksIn(where: string, text: string, secrets: Record<string, string>): string[] {
  return Object.entries(secrets).flatMap(([name, secret]) =>
    secret.length >= 8 && disguises(secret).some((disguise) => disguise.length >= 8 && text.includes(disguise))
      ? [`${name} in ${where}`]
      : [],
  )
}

/** After a scenario: the drive's bytes, what was said, what was run, what the model was shown. */
export function leaksOf(clouds: Required<Clouds>, events: RunEvent[], more: string[]): string[] {
  const keys: Record<string, string> = {
    'the key of the sandboxes': clouds.sandboxes.settings.E2B_API_KEY,
    "the drive's owner key": clouds.drive.ownerKey,
    "the model's key": clouds.model.key,
    ...Object.fromEntries(more.map((secret, index) => [`secret ${index + 1}`, secret])),
  }
  const commands = clouds.sandboxes.sandboxes.flatMap((sandbox) => sandbox.commands)
  const scoped = Object.fromEntries(
    commands.flatMap((command, index) =>
      command.environment['DRIVE9_API_KEY']
        ? [[`the scoped token of command ${index + 1}`, command.environment['DRIVE9_API_KEY']]]
        : [],
    ),
  )
  const { 'secret 1': _clone, ...neverInside } = keys
  return [
    ...clouds.drive
      .readAll()
      .flatMap(({ path, bytes }) =>
        leaksIn(`the stored file ${path}`, bytes.toString('latin1'), { ...keys, ...scoped }),
      ),
    ...leaksIn('an event', JSON.stringify(events), { ...keys, ...scoped }),
    ...commands.flatMap((command) =>
      leaksIn('the text of a command', `${command.command} ${command.arguments.join(' ')}`, { ...keys, ...scoped }),
    ),
    // A token that can only read may stand in a command's environment; the keys may not.
    ...commands.flatMap((command) =>
      leaksIn("a command's environment", Object.values(command.environment).join('\n'), neverInside),
    ),
    ...clouds.model.prompts.flatMap((prompt) => leaksIn('a prompt', prompt.text, { ...keys, ...scoped })),
    ...clouds.sandboxes.requests.flatMap((request) =>
      leaksIn('the address of a request', request.path, { ...keys, ...scoped }),
    ),
  ]
}
