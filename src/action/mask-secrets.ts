// Masks every encoding in which a secret may reach the log. A mask matches exact text only, so base64, percent-encoding and JSON strings need
// masks of their own.
import type { Runner } from './runner.js'

/** Placeholders that stand for an unneeded key. Masking such a word would make logs unreadable. */
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

/** The base64 forms at each of the three byte offsets, without the characters that depend on adjacent bytes. */
function base64Forms(bytes: Buffer): string[] {
  const inner = [0, 1, 2].map((shift) => {
    const shifted = Buffer.concat([Buffer.alloc(shift), bytes])
    const whole = shifted.toString('base64')
    return whole.slice(Math.ceil((shift * 8) / 6), Math.floor((shifted.length * 8) / 6))
  })
  return [bytes.toString('base64'), ...inner]
}
