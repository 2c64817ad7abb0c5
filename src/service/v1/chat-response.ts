// An answer in OpenAI's form: Markdown with links, and each citation as an annotation of its link.

import type { App } from '../app.js'
import { type Answer, answerTextView } from '../http/responses.js'

interface Annotation {
  type: 'url_citation'
  url_citation: { start_index: number; end_index: number; title: string; url: string }
}

interface ChatAnswer {
  id: string
  created: number
  content: string
  annotations: Annotation[]
  finishReason: 'stop' | 'length'
  usage: Usage
}

interface Usage {
  prompt_tokens: number
  completion_tokens: number
  total_tokens: number
  prompt_tokens_details: { cached_tokens: number }
}

export async function chatAnswer(app: App, answer: Answer): Promise<ChatAnswer> {
  const view = await answerTextView(app.settings.github, answer)
  const { id, content, citations, completedAt, truncated, reused, usage } = view
  return {
    id: `chatcmpl-${id}`,
    created: Math.floor(Date.parse(completedAt) / 1_000),
    content,
    annotations: annotationsIn(content, citations),
    finishReason: truncated ? 'length' : 'stop',
    // A stored answer was paid before.
    usage: reused ? usageOf({ inputTokens: 0, outputTokens: 0 }) : usageOf(usage),
  }
}

function usageOf(usage: { inputTokens: number; outputTokens: number; cachedInputTokens?: number | undefined }): Usage {
  const { inputTokens, outputTokens, cachedInputTokens = 0 } = usage
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedInputTokens },
  }
}

/** One for each link to a cited place, in the order of the text. */
function annotationsIn(content: string, citations: { label: string; url: string | null }[]): Annotation[] {
  const found = citations.flatMap(({ label, url }) => (url === null ? [] : linksTo(content, label, url)))
  return found.sort((a, b) => a.url_citation.start_index - b.url_citation.start_index)
}

function linksTo(content: string, title: string, url: string): Annotation[] {
  const found: Annotation[] = []
  const target = `](${url})`
  for (let at = content.indexOf(target); at >= 0; at = content.indexOf(target, at + target.length)) {
    const start = content.lastIndexOf('[', at)
    const place = { start_index: start, end_index: at + target.length }
    found.push({ type: 'url_citation', url_citation: { ...place, title, url } })
  }
  return found
}

export function completion(model: string, answer: ChatAnswer) {
  const { id, created, content, annotations, finishReason, usage } = answer
  const message = { role: 'assistant', content, refusal: null, annotations }
  return {
    id,
    object: 'chat.completion',
    created,
    model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishReason }],
    usage,
  }
}

/** Makes the chunks of one stream. */
export function chunks(model: string, id: string, created: number) {
  const chunk = (choices: unknown[], more: Record<string, unknown> = {}) => ({
    id,
    object: 'chat.completion.chunk',
    created,
    model,
    choices,
    ...more,
  })
  const delta = (fields: Record<string, unknown>, finishReason: string | null = null) =>
    chunk([{ index: 0, delta: fields, logprobs: null, finish_reason: finishReason }])
  return {
    start: () => delta({ role: 'assistant', content: '' }),
    /** What clients show as thoughts: which step runs. */
    progress: (text: string) => delta({ reasoning_content: `${text}\n` }),
    *answer({ content, annotations, finishReason, usage }: ChatAnswer, includeUsage: boolean) {
      for (const piece of paragraphs(content)) yield delta({ content: piece })
      if (annotations.length > 0) yield delta({ annotations })
      yield delta({}, finishReason)
      if (includeUsage) yield chunk([], { usage })
    },
  }
}

/** The text in pieces that end with their empty line. */
const paragraphs = (content: string) => content.split(/(?<=\n\n)/)
