// Questions to begin with, about what a summary names.
import type { MarkdownBlock, MarkdownInline } from '../src/handoff/domain/markdown/parse-document.js'
import { button, element, fill, find } from './dom.js'
import { plainName } from './format.js'

const mostExamples = 3
const longestName = 60

/** Fewer than three where the summary names little. */
function exampleQuestions(blocks: MarkdownBlock[]): string[] {
  const names = [...new Set(namesIn(blocks))]
  const isFile = (name: string) => /^[\w./-]+\.\w+$/.test(name)
  const definitions = names.filter((name) => /^[\p{L}_$][\p{L}\p{N}_$.]*$/u.test(name) && !isFile(name))
  const files = names.filter(isFile)
  const [definition, other] = definitions
  const [file] = files
  return [
    definition && `How does ${definition} work, step by step?`,
    file && `What depends on ${file}?`,
    other && `When is ${other} called, and by what?`,
    files[1] && `What can go wrong in ${files[1]}?`,
    'How is this project tested?',
    'Where would a new contributor start?',
  ]
    .filter((question): question is string => typeof question === 'string')
    .slice(0, mostExamples)
}

export function showExamples(blocks: MarkdownBlock[], ask: (question: string) => void): void {
  const buttons = exampleQuestions(blocks).map((text) => button(plainName(text), { class: 'chip' }, () => ask(text)))
  const title = element('p', { class: 'hint', id: 'examples-title' }, 'For example')
  fill(
    find('examples'),
    element('div', { class: 'examples', role: 'group', 'aria-labelledby': 'examples-title' }, title, buttons),
  )
}

/** Words in code, and the paths of links to files. */
function namesIn(blocks: MarkdownBlock[]): string[] {
  return blocks.flatMap((block): string[] => {
    switch (block.kind) {
      case 'paragraph':
        return namesInLine(block.content)
      case 'quote':
        return namesIn(block.blocks)
      case 'list':
        return block.items.flatMap(namesIn)
      default:
        return []
    }
  })
}

function namesInLine(inlines: MarkdownInline[]): string[] {
  return inlines.flatMap((inline): string[] => {
    if (inline.kind === 'code' || inline.kind === 'text') return inline.kind === 'code' ? nameOf(inline.text) : []
    if (inline.kind === 'link') return inline.content.flatMap((one) => ('text' in one ? nameOf(one.text) : []))
    return 'content' in inline ? namesInLine(inline.content) : []
  })
}

/** Without the lines behind a path. */
function nameOf(text: string): string[] {
  const name = text.replace(/:\d+(?:-\d+)?$/, '').replace(/\(\)$/, '')
  return name.length > 2 && name.length <= longestName ? [name] : []
}
