// The answer while the model writes it: parsed by the parser of the service, and not checked yet. Its citations are numbers that lead nowhere.
import type { MarkdownBlock } from '../src/handoff/domain/markdown/parse-document.js'
import type { AnswerParts } from './answer.js'
import { element, fill } from './dom.js'
import { withoutBidi } from './format.js'
import { renderBlocks } from './render-blocks.js'

type Parse = typeof import('../src/handoff/domain/markdown/parse-document.js').parseDocument

export type Draft = ReturnType<typeof createDraft>

/** Parsing takes at most a fifth of the time. */
const restPerParse = 4

export function createDraft({ words }: AnswerParts) {
  const box = element('div', { class: 'draft' })
  let shown: ShownBlock[] = []
  let parse: Parse | undefined
  let written = ''
  let drawn = ''
  let isOld = false
  let rest: ReturnType<typeof setTimeout> | undefined

  const draw = () => {
    const began = performance.now()
    shown = drawBlocks(box, shown, written, parse!)
    drawn = written
    rest = setTimeout(goOn, restPerParse * (performance.now() - began))
  }
  const goOn = () => {
    rest = undefined
    if (drawn !== written) draw()
  }
  const hold = () => words.classList.add('held')

  const start = (loaded: Parse) => {
    parse = loaded
    goOn()
  }
  void import('../src/handoff/domain/markdown/parse-document.js').then(
    ({ parseDocument }) => start(parseDocument),
    () => start(plainParagraphs),
  )

  return {
    append(piece: string) {
      if (!box.parentNode) fill(words, box)
      written = (isOld ? '' : written) + withoutBidi(piece)
      isOld = false
      words.classList.remove('held')
      if (parse && rest === undefined) draw()
    },
    /** The text is paler until it goes on. */
    hold,
    /** … until other text replaces it. */
    replace() {
      isOld = true
      hold()
    },
    end() {
      if (parse) goOn()
      clearTimeout(rest)
      words.classList.remove('held')
    },
    hasText: () => written !== '' && !isOld,
  }
}

interface ShownBlock {
  source: string
  node: Element
}

/** Blocks that are as they were keep their nodes: what is read or selected there stays. */
function drawBlocks(box: HTMLElement, shown: readonly ShownBlock[], written: string, parse: Parse): ShownBlock[] {
  const { text, labels } = shortCitations(written)
  const citation = (label: string) => element('span', { class: 'place unchecked' }, labels.indexOf(label) + 1)
  const blocks = parse(closeMarks(text), { citations: labels })
  const same = blocks.findIndex((block, index) => JSON.stringify(block) !== shown[index]?.source)
  const kept = shown.slice(0, same < 0 ? blocks.length : same)
  const added = blocks.slice(kept.length)
  const nodes = renderBlocks(added, { shift: 3, link: () => undefined, citation }) as Element[]
  for (const { node } of shown.slice(kept.length)) node.remove()
  box.append(...nodes)
  return [...kept, ...nodes.map((node, index) => ({ source: JSON.stringify(added[index]), node }))]
}

/** A citation as models write it, with a quote that is longer than most sentences; and one that is not written to its end. */
const writtenCitation = /\[\[([^\s"[\]]{1,300}:\d{1,9}(?:-\d{1,9})?)(?:\s"[^"\n]{0,300}")?\]\]/g
const openCitation = /\[(?:\[[^[\]\n]{0,600}\]?)?$/

/** Citations as their labels, which are numbered in their order. */
function shortCitations(written: string): { text: string; labels: string[] } {
  const labels = new Set<string>()
  const text = written.replace(writtenCitation, (_all, label: string) => {
    labels.add(label)
    return `[${label}]`
  })
  return { text: text.replace(openCitation, ''), labels: [...labels] }
}

const fence = /^ {0,3}(?:```|~~~)/gm
/** A row of a table that is not written to its end, and a head without the line that makes a table of it. */
const openTable = /(?:(?:^|\n\n)\|[^\n]*(?:\n(?:\|[-:| ]*)?)?|\n\|[^\n]*)$/

/** Markdown that is not written to its end, such that the marks at its end are not seen as marks. */
function closeMarks(text: string): string {
  if ((text.match(fence)?.length ?? 0) % 2 === 1) return text
  const whole = text.replace(openTable, '')
  const start = whole.lastIndexOf('\n') + 1
  const line = whole.slice(start).replace(/(?:[*_`]{1,3}|^ {0,3}#{1,6} ?)$/, '')
  const open = ['`', '**'].filter((mark) => line.split(mark).length % 2 === 0)
  return whole.slice(0, start) + line + open.slice(0, 1).join('')
}

/** Without the parser the words are shown as they are. */
const plainParagraphs: Parse = (text) =>
  text
    .split('\n\n')
    .filter((part) => part !== '')
    .map((part): MarkdownBlock => ({ kind: 'paragraph', content: [{ kind: 'text', text: part }] }))
