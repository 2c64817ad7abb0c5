// The lines of a file as an answer may cite them: decoded, without secrets, long lines cut. The sandbox shows them, and the host computes them again
// from the file's bytes, so both use these functions.
import { redactSecrets } from './secrets/redact-file.js'

/** Characters of a line that are shown. */
const longestLine = 400

/** The lines of a file by its bytes in the commit. Line 1 is at index 0. */
export const sourceLines = (bytes: Buffer): string[] => redactedLines(toUtf8(bytes))

/** The lines of a file; long lines are cut. Line 1 is at index 0. */
export function splitLines(text: string): string[] {
  const lines = text.split('\n').map(cutLine)
  if (lines.at(-1) === '') lines.pop()
  return lines
}

function cutLine(line: string): string {
  const plain = line.endsWith('\r') ? line.slice(0, -1) : line
  if (plain.length <= longestLine) return plain
  return `${plain.slice(0, longestLine - 1).toWellFormed()}…`
}

/** The lines without secrets. It needs the whole file, because the middle of a private key is only recognized by its beginning. */
export function redactedLines(bytes: Buffer): string[] {
  return splitLines(redactSecrets(bytes.toString('utf8')).text)
}

/** Converts UTF-16 to UTF-8; returns other bytes unchanged. */
export function toUtf8(bytes: Buffer): Buffer {
  const wide = utf16ByteOrder(bytes)
  return wide === undefined ? bytes : Buffer.from(decodeUtf16(bytes, wide), 'utf8')
}

/** Detects UTF-16 by its byte order mark, or by zeros in every other byte of a plain beginning. */
function utf16ByteOrder(bytes: Buffer): 'little' | 'big' | undefined {
  if (bytes.length < 2) return undefined
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return bytes[2] === 0 && bytes[3] === 0 ? undefined : 'little'
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'big'
  // Most files return here.
  if (bytes[0] !== 0 && bytes[1] !== 0) return undefined
  const pairs = Math.min(bytes.length >> 1, 64)
  if (pairs < 4) return undefined
  let even = 0
  let odd = 0
  for (let index = 0; index < pairs; index++) {
    if (isPlainText(bytes[index * 2]!) && bytes[index * 2 + 1] === 0) odd++
    if (bytes[index * 2] === 0 && isPlainText(bytes[index * 2 + 1]!)) even++
  }
  if (odd >= pairs * 0.9) return 'little'
  return even >= pairs * 0.9 ? 'big' : undefined
}

const isPlainText = (byte: number) => (byte >= 32 && byte < 127) || byte === 9 || byte === 10 || byte === 13

function decodeUtf16(bytes: Buffer, order: 'little' | 'big'): string {
  const even = bytes.subarray(0, bytes.length & ~1)
  const text = (order === 'little' ? even : Buffer.from(even).swap16()).toString('utf16le')
  return text.replace(/^\ufeff/, '').toWellFormed()
}
