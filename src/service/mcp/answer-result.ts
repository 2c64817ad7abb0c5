// An answer as the result of a tool: Markdown with links for people, and data with citations.
import type { CallToolResult } from '@modelcontextprotocol/server'
import { type Answer, viewAnswer } from '../ask/answer.js'
import { linesUri } from './lines.js'
import type { McpCall } from './session.js'

export function answerResult({ app }: Pick<McpCall, 'app'>, answer: Answer): CallToolResult {
  const { blocks: _blocks, code: _code, markdown, seconds: _seconds, ...view } = viewAnswer(app, answer)
  const { repository } = answer.run.handoff
  const citations = view.citations.map((citation) => ({
    ...citation,
    uri: linesUri(repository, citation.commit ?? view.commit, citation),
  }))
  const staleness = view.stale === undefined ? '' : `\n\n${view.stale.told}`
  return {
    content: [{ type: 'text', text: `${markdown}${staleness}` }],
    structuredContent: { ...view, citations },
  }
}
