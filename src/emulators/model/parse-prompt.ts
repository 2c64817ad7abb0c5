// Reads what the host sends to a model: the task, and the blocks of numbered lines in the user messages.

export interface Message {
  role: string
  content: string
}

export interface WireRequest {
  model?: unknown
  messages: Message[]
  stream?: unknown
  stream_options?: { include_usage?: unknown } | null
  max_tokens?: number | null
  max_completion_tokens?: number | null
  [parameter: string]: unknown
}

export function isMessage(value: unknown): value is Message {
  const message = value as Partial<Message> | null
  return typeof message?.role === 'string' && typeof message.content === 'string'
}

export interface Line {
  /** The line's number in its file; 0 where the text is not a file's. */
  number: number
  text: string
}

export interface FileBlock {
  path: string
  /** The commit, in comparisons. */
  at?: string
  /** `source`, `documentation`, … as the host classified it. */
  kind: string
  /** `full`, `head`, `signatures` or `line`. */
  form: string
  lines: Line[]
}

/** Text that is not a file: a tree, an earlier summary, an earlier question, the question. */
interface TextBlock {
  kind: string
  title: string
  lines: string[]
}

export interface Prompt {
  /** `answer`, `summary`, …; empty when the system message names none. */
  task: string
  system: string
  files: FileBlock[]
  texts: TextBlock[]
  question: string
}

export function readPrompt(messages: Message[]): Prompt {
  const system = messages.filter((message) => message.role === 'system' || message.role === 'developer')
  const user = messages.filter((message) => message.role === 'user').map((message) => message.content)
  const { files, texts } = readBlocks(user.flatMap((content) => content.split('\n')))
  const asked = texts.findLast((block) => block.kind === 'question')
  return {
    task: /^Task: ([a-z]+)/.exec(system[0]?.content ?? '')?.[1] ?? '',
    system: system.map((message) => message.content).join('\n'),
    files,
    texts,
    question: asked ? asked.lines.join('\n') : (user.at(-1) ?? ''),
  }
}

function readBlocks(lines: string[]): { files: FileBlock[]; texts: TextBlock[] } {
  const files: FileBlock[] = []
  const texts: TextBlock[] = []
  let take: ((line: string) => void) | undefined
  for (const line of lines) {
    if (line === '=== end') take = undefined
    else if (take !== undefined) take(line)
    else if (line.startsWith('=== ')) take = open(line, files, texts)
  }
  return { files, texts }
}

const fileHead = /^=== file ("(?:[^"\\]|\\.)*")(?: at ([0-9a-f]{7,40}))? lines \d+-\d+ \(([^,()]*), ([^()]*)\)$/

/** Opens the block that this line heads, and returns what takes its lines. */
function open(head: string, files: FileBlock[], texts: TextBlock[]): (line: string) => void {
  const [, name, at, kind = '', form = ''] = fileHead.exec(head) ?? []
  if (name !== undefined) {
    const block: FileBlock = {
      path: JSON.parse(name) as string,
      ...(at === undefined ? {} : { at }),
      kind,
      form,
      lines: [],
    }
    files.push(block)
    return (line) => {
      const [, number, text = ''] = /^(\d+)\| ?(.*)$/.exec(line) ?? []
      if (number !== undefined) block.lines.push({ number: Number(number), text })
    }
  }
  const [, kindOfText = '', title = ''] = /^=== (\S+) ?(.*)$/.exec(head) ?? []
  const block: TextBlock = { kind: kindOfText, title, lines: [] }
  texts.push(block)
  return (line) => block.lines.push(line.replace(/^\d*\| ?/, ''))
}

/**
 * Tokens as this model counts them: a piece for each word, each run of up to three digits, each run of signs, each line's end. Never more
 * than a real vocabulary makes, so that a budget kept with a real one is kept here too.
 */
export const countPieces = (text: string): number => piecesOf(text).length

export const piecesOf = (text: string): string[] =>
  text.match(/[^\S\r\n]*(?:\p{L}+|\p{N}{1,3}|[^\s\p{L}\p{N}]+)|\s*[\r\n]+|\s+/gu) ?? []
