// Every form in which a secret might come into a log, so that the runner hides each. A mask knows exact text only: base64 of a header, a
// percent-encoded address or a JSON string would pass it.
import type { Runner } from './runner.js'

/** What people write where a key is wanted and none is needed; to mask such a word would make holes in every log. */
const placeholders =
  /^(?:none|null|undefined|empty|test|dummy|example|ollama|lm-studio|not-needed|no-key|unused|x+|-+|\*+)$/i
const shortest = 6

export function maskAll(runner: Pick<Runner, 'mask'>, secrets: readonly string[]): void {
  for (const form of new Set(secrets.flatMap(encodingsOfSecret))) runner.mask(form)
}

export function encodingsOfSecret(secret: string): string[] {
  if (secret.length < shortest || placeholders.test(secret)) return []
  const bytes = Buffer.from(secret)
  const lines = secret.split(/\r?\n/).filter((line) => line.trim().length >= shortest)
  return [
    secret,
    ...lines,
    ...base64Forms(bytes),
    bytes.toString('base64url'),
    Buffer.from(`x-access-token:${secret}`).toString('base64'),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    [...secret].reverse().join(''),
    encodeURIComponent(secret.toWellFormed()),
    JSON.stringify(secret).slice(1, -1),
  ].filter((form) => form.length >= shortest)
}

/** At each of the three places where base64 may begin, without the signs that neighbours have a part in. */
function base64Forms(bytes: Buffer): string[] {
  const inner = [0, 1, 2].map((shift) => {
    const shifted = Buffer.concat([Buffer.alloc(shift), bytes])
    const whole = shifted.toString('base64')
    return whole.slice(Math.ceil((shift * 8) / 6), Math.floor((shifted.length * 8) / 6))
  })
  return [bytes.toString('base64'), ...inner]
}
