// Answers whose citations are wrong in one way each, made from an honest one.
import type { FileBlock, Prompt } from './parse-prompt.js'

export type Forgery =
  /** A file that is not in the repository. */
  | 'path'
  /** Lines beyond the file's end. */
  | 'lines'
  /** Words that stand nowhere in the file. */
  | 'quote'
  /** The right quote, a few lines off. */
  | 'shifted'
  /** Places outside the repository. */
  | 'outside'
  /** A real file and real lines that were not shown. */
  | 'unshown'

const cited = /\[\[(.*?):(\d+)(?:-(\d+))?((?: ".*?(?<!\\)")?)\]\]/g

export function forgeCitations(answer: string, how: Forgery, prompt: Prompt): string {
  const honest = answer.startsWith('NOT FOUND') ? claimAbout(prompt.files[0]) : answer
  return honest.replace(cited, (_, path: string, from: string, to: string | undefined, quote: string) => {
    const [first, last] = [Number(from), Number(to ?? from)]
    return `[[${forgedCitation(how, path, first, last, quote)}]]`
  })
}

function forgedCitation(how: Forgery, path: string, from: number, to: number, quote: string): string {
  switch (how) {
    case 'path':
      return `src/never/${path.split('/').at(-1)}:${from}-${to}${quote}`
    case 'lines':
      return `${path}:${from + 1_000_000}-${to + 1_000_000}${quote}`
    case 'quote':
      return `${path}:${from}-${to} "words that stand nowhere in this file"`
    case 'shifted':
      return `${path}:${from + 3}-${to + 3}${quote}`
    case 'outside':
      return `../../../etc/passwd:${from}-${to} "root:x:0:0"`
    case 'unshown':
      return `${path}:${to + 400}-${to + 402}`
  }
}

function claimAbout(file: FileBlock | undefined): string {
  const line = file?.lines[0]?.number ?? 1
  return `The answer stands in this file. [[${file?.path ?? 'README.md'}:${line} "as is well known"]]`
}
