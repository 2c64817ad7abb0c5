// How prompts ask a model to cite: the form that parse-citations.ts reads.

/** The form, for a prompt. */
export const citationSyntax = `[[path:first-last "quote"]], or [[path:line "quote"]] for one line. The path is as in the block's head; the lines lie inside what you were shown; the quote is copied exactly from one of those lines, up to 120 characters, with a quotation mark inside it written \\". Several citations follow each other. Cite few lines, the ones that show it.`

export const citationExample =
  'Tokens are refreshed a minute early. [[src/token.ts:41-44 "if (expires - now < 60_000)"]]'

/** A place as a model would cite it, without a quote. */
export function citationSource({ path, from, to }: { path: string; from: number; to: number }): string {
  const name = /^[\w@./+-]+$/.test(path) ? path : JSON.stringify(path)
  return `[[${name}:${from === to ? from : `${from}-${to}`}]]`
}
