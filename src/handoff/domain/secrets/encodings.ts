// The encodings in which a key of handoff may leak: as it is, in base64, in hexadecimal, URL-encoded and JSON-escaped. Other programs cut their
// messages, so parts of a long key are found as well.

/** Placeholders that people write for a key. These are no secrets; redacting them would damage ordinary text. */
const placeholders =
  /^(?:none|null|undefined|empty|test|testing|dummy|example|placeholder|ollama|lm-studio|not-needed|no-key|unused|secret|password|changeme|x+|-+|\*+)$/i

const shortestSecret = 5
/** A part of a secret of several lines that is long enough to be looked for alone. */
const shortestPart = 12

/** All texts that give the secret away. */
export function encodingsOf(secret: string): string[] {
  const bare = secret.trim().toWellFormed()
  if (bare.length < shortestSecret || placeholders.test(bare)) return []
  const parts = bare.replace(/-----(?:BEGIN|END) [A-Z0-9 ]+-----/g, '').split(/\s+/)
  const long = parts.filter((part) => part.length >= shortestPart)
  return [...new Set([...[bare, ...long].flatMap(encodings), ...long.flatMap(partsOf)])]
}

/** Each part of a key that is twice as long as `shortestPart` contains one of these. */
function partsOf(text: string): string[] {
  if (text.length < 2 * shortestPart) return []
  return Array.from({ length: Math.floor(text.length / shortestPart) }, (_, index) =>
    text.slice(index * shortestPart, (index + 1) * shortestPart),
  )
}

function encodings(text: string): string[] {
  const hex = Buffer.from(text).toString('hex')
  const base64 = [0, 1, 2].map((shift) => base64Behind(text, shift))
  const inAddresses = base64.map((form) => form.replaceAll('+', '-').replaceAll('/', '_'))
  return [
    text,
    JSON.stringify(text).slice(1, -1),
    encodeURIComponent(text),
    hex,
    hex.toUpperCase(),
    ...base64,
    ...inAddresses,
  ]
}

/** Base64 of the text behind so many other bytes, without the groups of four that those bytes, or what follows, have a part in. */
function base64Behind(text: string, shift: number): string {
  const bytes = Buffer.concat([Buffer.alloc(shift), Buffer.from(text)])
  return bytes.toString('base64').slice(shift === 0 ? 0 : 4, -4)
}
