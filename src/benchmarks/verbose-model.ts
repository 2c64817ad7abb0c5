// A model for measuring how much text is sent to a model. Its replies are as long as those of a good model, and cite the lines in the prompt.
// When the prompt changes, the reply changes too. So every change reaches the top summary, and the measurement is not too optimistic.
import type { Model, ModelReply, ModelRequest } from '../handoff/domain/ports.js'

interface Place {
  path: string
  line: number
  text: string
}

const headings = [
  'What it is and for whom',
  'How it is built',
  'Where to start reading',
  'How to build, test and run it, and its risks',
]

/** Sentences in a reply: about 300 tokens for a part, about 1,000 for the four sections. */
const sentencesIn = { part: 10, summary: 32 }

export function talkingModel(estimateTokens: (text: string) => number, contextTokens: number): Model {
  return {
    name: 'gpt-4o',
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
  const { places, earlier } = read(request.messages[1]?.content ?? '')
  const shown = new Set(places.map((place) => place.path))
  const still = earlier.filter((sentence) => ![...shown].some((path) => sentence.includes(`${path}:`)))
  const most = request.purpose === 'summary' ? sentencesIn.summary : sentencesIn.part
  const sentences = [...sample(places, most).map(say), ...still].slice(0, most)
  if (request.purpose !== 'summary') return sentences.join(' ')
  return headings
    .map((heading, index) => `## ${heading}\n\n${quarter(sentences, index) || 'Nothing is known of it.'}\n`)
    .join('\n')
}

const quarter = (sentences: string[], index: number) =>
  sentences.filter((_, at) => at % headings.length === index).join(' ')

function say({ path, line, text }: Place): string {
  const words = (text.match(/[A-Za-z]{3,}/g) ?? ['nothing']).slice(0, 6).join(' ')
  return `The code that begins with ${words} stands in ${path}:${line} and is used by what surrounds it there.`
}

/** Spread over all of them, so that every file has its turn. */
function sample(places: Place[], most: number): Place[] {
  const step = Math.max(1, places.length / most)
  return Array.from({ length: Math.min(most, places.length) }, (_, index) => places[Math.floor(index * step)]!)
}

function read(content: string): { places: Place[]; earlier: string[] } {
  const places: Place[] = []
  const earlier: string[] = []
  let path: string | undefined
  for (const row of content.split('\n')) {
    const head = /^=== (?:file ("(?:[^"\\]|\\.)*") lines|(\w+))/.exec(row)
    if (head) path = head[1] === undefined ? undefined : (JSON.parse(head[1]) as string)
    const line = path === undefined ? null : /^(\d+)\| (.*)$/.exec(row)
    if (line && /\w{3}/.test(line[2]!)) places.push({ path: path!, line: Number(line[1]), text: line[2]! })
    if (path === undefined && row.startsWith('| The code')) earlier.push(...row.slice(2).split(/(?<=there\.) /))
  }
  return { places, earlier }
}
