// Puts untrusted text into a prompt: in blocks whose every line is numbered or prefixed, so that no text can forge the end of a block.

export interface NumberedLine {
  number: number
  text: string
}

/** Longer lines are cut, because one of them could fill a prompt. */
const longestLine = 2_000

/** A path as a JSON string, on one line whatever it holds. What cannot be seen is escaped, so that nothing hides in a name. */
export function pathText(path: string): string {
  return JSON.stringify(path).replace(
    /[\u007f-\u009f\u2028\u2029\p{Cf}\p{Default_Ignorable_Code_Point}]/gu,
    unicodeEscape,
  )
}

const unicodeEscape = (character: string) =>
  character.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** One line of foreign text: whatever could end a line or be a command to a terminal is replaced, and what is too long is cut. */
function plainLine(text: string, limit = longestLine): string {
  const shown = text.length > limit ? `${text.slice(0, limit)}… (${text.length - limit} more characters)` : text
  return shown.toWellFormed().replace(/[\u0000-\u0008\u000a-\u001f\u007f\u0085\u2028\u2029]/g, '\ufffd')
}

/** Lines of a file. The numbers need not be neighbours: a gap says that the lines between are not shown. */
export function fileBlock(file: {
  path: string
  kind: string
  form: string
  lines: readonly NumberedLine[]
  lineLimit?: number
  /** The commit, where files of more than one are shown. */
  at?: string
}): string {
  const first = file.lines[0]?.number ?? 0
  const last = file.lines.at(-1)?.number ?? 0
  const body = file.lines.map((line) => `${line.number}| ${plainLine(line.text, file.lineLimit)}\n`).join('')
  const at = file.at === undefined ? '' : ` at ${file.at}`
  return `=== file ${pathText(file.path)}${at} lines ${first}-${last} (${file.kind}, ${file.form})\n${body}=== end\n`
}

/** Text that has no line numbers of its own: the tree, a summary, a list of names. */
export function textBlock(head: string, lines: readonly string[]): string {
  return `=== ${head}\n${lines.map((line) => `| ${plainLine(line)}\n`).join('')}=== end\n`
}
