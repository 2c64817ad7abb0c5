// Lines of code with their numbers. They are shown at once; their colours follow when the tokeniser is loaded, which happens with the first code.
import { element, outsideLink } from './dom.js'
import { withoutBidi } from './format.js'

/** A path, or the language that a model named. */
type Source = { path: string } | { language: string | undefined }

interface Numbered {
  path: string
  from: number
  lines: string[]
  isCited: (line: number) => boolean
  /** The address of a line at the git host. */
  linkTo?: (line: number) => string | undefined
}

let loading: Promise<typeof import('./highlight.js')> | undefined

export function renderLines({ path, from, lines, isCited, linkTo }: Numbered): HTMLElement {
  const codes = lines.map((_, index) => element(isCited(from + index) ? 'mark' : 'code', {}))
  const rows = codes.map((code, index) => {
    const line = from + index
    const url = linkTo?.(line)
    const properties = { class: 'number', tabindex: -1, 'aria-label': `Line ${line}` }
    const number = url ? outsideLink(url, properties, line) : element('span', { class: 'number' }, line)
    return element('li', { value: line, class: isCited(line) && 'cited' }, number, code)
  })
  colour(codes, lines.map(withoutBidi), { path })
  return element('ol', {}, rows)
}

/** The code of a text, as one element; `label` receives the name of the language. */
export function renderCode(text: string, source: Source, label: HTMLElement): HTMLElement {
  const code = element('code', {}, withoutBidi(text))
  void load().then((highlight) => {
    const language = highlight.findLanguage(source)
    label.textContent = language?.name ?? ''
    if (!language) return
    const lines = withoutBidi(text).split('\n')
    const coloured = highlight.tokenise(lines, language)
    code.replaceChildren(
      ...coloured.flatMap((tokens, index) => [...spans(tokens), ...(index < lines.length - 1 ? ['\n'] : [])]),
    )
  }, ignore)
  return code
}

export async function showLanguage(label: HTMLElement, path: string): Promise<void> {
  const highlight = await load().catch(ignore)
  label.textContent = highlight?.findLanguage({ path })?.name ?? ''
}

function colour(places: HTMLElement[], lines: string[], source: Source): void {
  for (const [index, place] of places.entries()) place.textContent = lines[index] || '\u200b'
  void load().then((highlight) => {
    const language = highlight.findLanguage(source)
    if (!language) return
    for (const [index, tokens] of highlight.tokenise(lines, language).entries())
      if (lines[index] !== '') places[index]!.replaceChildren(...spans(tokens))
  }, ignore)
}

/** After a failure the next code tries again. */
function load() {
  loading ??= import('./highlight.js').catch((error: unknown) => {
    loading = undefined
    throw error
  })
  return loading
}

/** Code without colours is still code. */
const ignore = () => undefined

const spans = (tokens: { kind: string | undefined; text: string }[]) =>
  tokens.map(({ kind, text }) => (kind === undefined ? text : element('span', { class: `t-${kind}` }, text)))
