// A model for measuring pushes: it writes from the text that it is shown, as many sentences as a good model writes, and always the same for the same
// prompt. It cites definitions, headings and scripts where it finds them, and changes its words with the text.
import { createHash } from 'node:crypto'
import { citationSource } from '../handoff/domain/citations/citation-syntax.js'
import type { Model, ModelReply, ModelRequest } from '../handoff/domain/ports.js'
import { headings } from '../handoff/domain/summary/summary-record.js'

interface Block {
  path: string
  lines: { number: number; text: string }[]
}

const sentences = { part: 10, combine: 12, summary: 32 }
const linesCited = 6

export function historyModel(estimateTokens: (text: string) => number, contextTokens: number): Model {
  return {
    name: 'writes-from-the-text',
    host: 'localhost',
    contextTokens,
    replyTokens: ({ answerTokens }) => answerTokens,
    expectedThinking: 0,
    estimateTokens,
    async complete(request): Promise<ModelReply> {
      const text = reply(request)
      const inputTokens = request.messages.reduce((sum, { content }) => sum + estimateTokens(content) + 4, 0)
      return { text, truncated: false, usage: { inputTokens, outputTokens: estimateTokens(text) } }
    },
  }
}

function reply(request: ModelRequest): string {
  const task = /^Task: (\w+)/.exec(request.messages[0]?.content ?? '')?.[1] ?? ''
  const { blocks, described } = readPrompt(request.messages[1]?.content ?? '')
  const say = (block: Block, most: number) => telling(block, most).map((index) => sentence(block, index))
  if (task === 'update') return blocks.flatMap((block) => say(block, 1)).join(' ')
  const most = task === 'part' ? sentences.part : task === 'combine' ? sentences.combine : sentences.summary
  const each = Math.max(1, Math.ceil(most / Math.max(1, blocks.length)))
  const all = [...blocks.flatMap((block) => say(block, each)), ...described]
  const chosen = sample(all, most)
  if (task === 'part') return `${chosen.join(' ')}\nWords: ${words(blocks).join(', ')}`
  if (task === 'combine') return chosen.join(' ')
  const section = (index: number) => chosen.filter((_, at) => at % headings.length === index).join(' ')
  return headings.map((heading, index) => `## ${heading}\n\n${section(index)}\n`).join('\n')
}

/** Definitions, headings and commands. */
const isTelling =
  /^\s*(?:export|public|abstract|class|def|func|fn|function|interface|type|struct|impl|module|const|pub|async)\b|^#+ |"(?:scripts|name|main|test|build)":/

/** Places spread over the block, the telling ones first. */
function telling({ lines }: Block, most: number): number[] {
  const all = lines.flatMap(({ text }, index) => (/\w{3}/.test(text) ? [index] : []))
  const found = all.filter((index) => isTelling.test(lines[index]!.text))
  return sample(found.length > 0 ? found : all, most)
}

function sentence({ path, lines }: Block, index: number): string {
  const { number, text } = lines[index]!
  let last = index
  while (last - index + 1 < linesCited && lines[last + 1]?.number === number + last - index + 1) {
    if (lines[last + 1]!.text.trim() === '') break
    last++
  }
  const cited = lines.slice(index, last + 1)
  const digest = createHash('sha256')
    .update(cited.map((line) => line.text).join('\n'))
    .digest('hex')
    .slice(0, 6)
  const begin = (text.match(/[A-Za-z]{3,}/g) ?? ['nothing']).slice(0, 6).join(' ')
  const place = citationSource({ path, from: number, to: number + last - index })
  return `The code ${digest} that begins with ${begin} is used by what surrounds it here. ${place}`
}

/** Spread over all of them, so that every file has its turn. */
function sample<T>(all: readonly T[], most: number): T[] {
  const step = Math.max(1, all.length / most)
  return Array.from({ length: Math.min(most, all.length) }, (_, index) => all[Math.floor(index * step)]!)
}

const words = (blocks: readonly Block[]) =>
  sample([...new Set(blocks.flatMap(({ lines }) => lines.flatMap(({ text }) => text.match(/[a-z]{5,}/g) ?? [])))], 12)

function readPrompt(content: string): { blocks: Block[]; described: string[] } {
  const blocks: Block[] = []
  const described: string[] = []
  let inFile = false
  let inNote = false
  for (const row of content.split('\n')) {
    if (row.startsWith('=== ')) {
      const path = /^=== file ("(?:[^"\\]|\\.)*") lines/.exec(row)?.[1]
      inFile = path !== undefined
      inNote = row.startsWith('=== summary')
      if (path !== undefined) blocks.push({ path: JSON.parse(path) as string, lines: [] })
      continue
    }
    const line = inFile ? /^(\d+)\| (.*)$/.exec(row) : null
    if (line) blocks.at(-1)!.lines.push({ number: Number(line[1]), text: line[2]! })
    else if (inNote && row.startsWith('| The code')) described.push(row.slice(2))
  }
  return { blocks, described }
}
