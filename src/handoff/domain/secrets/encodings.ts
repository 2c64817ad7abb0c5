// Encodings in which a secret may leak: reversed, base64 (at each of its three alignments), hexadecimal, URL-encoded, JSON-escaped, and as
// character codes. Punctuation between the letters and the case of letters are ignored.

/** Found as they are. */
export interface SecretForms {
  exact: string[]
  /** Found in the letters and digits of a text alone, in small letters, read forwards or backwards. */
  loose: string[]
}

/** Longer secrets are found by their plainer forms; the wordy ones would only cost memory. */
const longestWordy = 400

/** Placeholders that people write for a key. These are no secrets; redacting them would damage ordinary text. */
const placeholders =
  /^(?:none|null|undefined|empty|test|testing|dummy|example|placeholder|ollama|lm-studio|not-needed|no-key|unused|secret|password|changeme|x+|-+|\*+)$/i

export const shortestSecret = 5

export function formsOf(secret: string): SecretForms {
  const bare = secret.replace(/-----(?:BEGIN|END) [A-Z0-9 ]+-----/g, '').trim()
  if (bare.length < shortestSecret || placeholders.test(bare)) return { exact: [], loose: [] }
  const whole = bare.toWellFormed()
  const written = distinct([bare, whole, JSON.stringify(bare).slice(1, -1), encodeURIComponent(whole)])
  const exact = written.flatMap((form) => [form, backwards(form)])
  return { exact: distinct(exact), loose: distinct([...written.map(lettersOf), ...encodings(bare)]) }
}

/** As they are found: small letters and digits. */
function encodings(secret: string): string[] {
  const bytes = Buffer.from(secret)
  const hex = bytes.toString('hex')
  const plain = [...base64Forms(bytes), ...base64Forms(bytes.toReversed()), hex]
  if (secret.length > longestWordy) return plain
  return [...plain, hex.replace(/../g, 'u00$&'), hex.replace(/../g, 'x$&'), bytes.join('')]
}

/** Base64 of the secret behind zero, one and two other bytes, without the signs that those bytes, or what follows, have a part in. */
function base64Forms(bytes: Uint8Array): string[] {
  return [0, 1, 2].map((shift) => {
    const shifted = Buffer.alloc(shift + bytes.length)
    shifted.set(bytes, shift)
    const whole = shifted.toString('base64')
    return lettersOf(whole.slice(Math.ceil((shift * 8) / 6), Math.floor((shifted.length * 8) / 6)))
  })
}

export function lettersOf(text: string): string {
  return text.replace(/[^A-Za-z0-9]/g, '').toLowerCase()
}

const backwards = (text: string) => [...text].reverse().join('')

const distinct = (texts: string[]) => [...new Set(texts)].filter((text) => text !== '')
