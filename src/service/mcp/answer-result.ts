// An answer as the result of a tool: Markdown with links for people, and data with citations.
import type { CallToolResult } from '@modelcontextprotocol/server'
import { type Answer, answerTextView } from '../http/responses.js'
import { linesUri } from './lines.js'
import type { McpCall } from './session.js'

export async function answerResult({ app }: Pick<McpCall, 'app'>, answer: Answer): Promise<CallToolResult> {
  const { content, seconds: _seconds, ...view } = await answerTextView(app.settings.github, answer)
  const { repository } = answer.run.handoff
  const citations = view.citations.map((citation) => ({
    ...citation,
    uri: linesUri(repository, citation.commit ?? view.commit, citation),
  }))
  return { content: [{ type: 'text', text: content }], structuredContent: { ...view, citations } }
}
