// The digest of cited lines, by which they are found again in a newer commit. The sandbox and the host compute it from texts that were decoded in
// different ways, so what the ways differ in does not count: line ends, spaces at the end of a line, and control characters.
import { hash } from 'node:crypto'

/** Lowercase hexadecimal sha256. */
export function digestLines(lines: readonly string[]): string {
  return hash('sha256', lines.map(normalizeLine).join('\n'))
}

export function normalizeLine(line: string): string {
  const plain = /[^\t\x20-\x7e]/.test(line) ? line.replace(/[\u0000-\u0008\u000a-\u001f\u007f\ufeff\ufffd]/g, '') : line
  return plain.trimEnd()
}
