// In which clothes a secret may walk out: written backwards, in base64 (at any of its three alignments, inside other text), in hexadecimal, for
// an address, for JSON, as character codes. Signs between the letters do not count, nor does the case of letters.

/** Found as they are. */
export interface SecretForms {
  exact: string[]
  /** Found in the letters and digits of a text alone, in small letters. */
  loose: string[]
}

/** Longer secrets are found by their plainer forms; the wordy ones would only cost memory. */
const longestWordy = 400

/** What people put where a key is wanted and none is needed. These are no secrets, and hiding them would make holes in ordinary text. */
const placeholders =
  /^(?:none|null|undefined|empty|test|testing|dummy|example|placeholder|ollama|lm-studio|not-needed|no-key|unused|secret|password|changeme|x+|-+|\*+)$/i

export const shortestSecret = 5

export function formsOf(secret: string): SecretForms {
  const bare = secret.replace(/-----(?:BEGIN|END) [A-Z0-9 ]+-----/g, '').trim()
  if (bare.length < shortestSecret || placeholders.test(bare)) return { exact: [], loose: [] }
  const whole = bare.toWellFormed()
  const written = [bare, whole, JSON.stringify(bare).slice(1, -1), encodeURIComponent(whole)]
  const exact = written.flatMap((form) => [form, backwards(form)])
  const loose = [...written, ...encodings(bare)].flatMap((form) => [form, backwards(form)]).map(lettersOf)
  return { exact: distinct(exact), loose: distinct(loose) }
}

function encodings(secret: string): string[] {
  const bytes = new TextEncoder().encode(secret)
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0'))
  const plain = [...base64Forms(bytes), ...base64Forms(bytes.slice().reverse()), hex.join('')]
  if (secret.length > longestWordy) return plain
  const wordy = [hex.map((pair) => `u00${pair}`), hex.map((pair) => `x${pair}`), [...bytes].map(String)]
  return [...plain, ...wordy.map((parts) => parts.join(''))]
}

/** Base64 of the secret behind zero, one and two other bytes, without the signs that those bytes, or what follows, have a part in. */
function base64Forms(bytes: Uint8Array): string[] {
  return [0, 1, 2].map((shift) => {
    const shifted = new Uint8Array(shift + bytes.length)
    shifted.set(bytes, shift)
    const whole = btoa(Array.from(shifted, (byte) => String.fromCharCode(byte)).join(''))
    return whole.slice(Math.ceil((shift * 8) / 6), Math.floor((shifted.length * 8) / 6))
  })
}

export function lettersOf(text: string): string {
  return text.replace(/[^A-Za-z0-9]/g, '').toLowerCase()
}

const backwards = (text: string) => [...text].reverse().join('')

const distinct = (texts: string[]) => [...new Set(texts)].filter((text) => text !== '')
