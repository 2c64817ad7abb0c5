// An answer as the result of a tool: Markdown with links for people, and data with citations.
import type { CallToolResult } from '@modelcontextprotocol/server'
import { showCorrections } from '../../handoff/index-for-stored-answers.js'
import { type Answer, viewListedAnswer } from '../ask/answer.js'
import { placeOf } from '../http/responses.js'
import { linesUri } from './lines.js'
import type { McpCall } from './session.js'

export function answerResult({ app }: Pick<McpCall, 'app'>, answer: Answer): CallToolResult {
  const { markdown, seconds: _seconds, ...view } = viewListedAnswer(app, answer)
  const { handoff } = answer.run
  const { repository } = handoff
  const corrected = showCorrections(markdown, answer.corrections ?? [], placeOf(app.settings.github, handoff))
  const citations = view.citations.map((citation) => ({
    ...citation,
    uri: linesUri(repository, citation.commit ?? view.commit, citation),
  }))
  const staleness = view.stale === undefined ? '' : `\n\n${view.stale.told}`
  return {
    content: [{ type: 'text', text: `${corrected}${staleness}` }],
    structuredContent: { ...view, citations },
  }
}
