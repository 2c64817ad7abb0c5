// A question and its answer, as the description shows them.

const commit = '5f2c1a9e0d7b4c3e8a6f1b2d3c4e5f60718293a4'
const run = `${commit}-1-1`
const id = '0f1e2d3c4b5a69788796a5b4c3d2e1f0'
const url = `https://github.com/octo/tools/blob/${commit}/src/token.ts#L12-L18`

export const exampleQuestion = {
  repository: 'octo/tools',
  ref: 'main',
  question: 'How is the token refreshed?',
}

export const exampleAnswer = {
  status: 'done',
  repository: 'octo/tools',
  id,
  run,
  commit,
  question: 'How is the token refreshed?',
  text: 'A minute before it expires, by `refreshToken`. [src/token.ts:12-18]',
  markdown: `A minute before it expires, by \`refreshToken\`. [\`src/token.ts:12-18\`](${url})`,
  blocks: [
    {
      kind: 'paragraph',
      content: [
        { kind: 'text', text: 'A minute before it expires, by ' },
        { kind: 'code', text: 'refreshToken' },
        { kind: 'text', text: '. ' },
        { kind: 'citation', label: 'src/token.ts:12-18' },
      ],
    },
  ],
  citations: [{ path: 'src/token.ts', from: 12, to: 18, label: 'src/token.ts:12-18', url }],
  code: [{ path: 'src/token.ts', blob: commit, from: 12, lines: ['export async function refreshToken() {', '}'] }],
  verified: '1 of 1 citation verified',
  unsupported: 0,
  unanswered: false,
  truncated: false,
  model: 'gpt-6-luna',
  usage: { inputTokens: 5_120, outputTokens: 143 },
  acceptedAt: '2026-11-19T10:00:00.000Z',
  completedAt: '2026-11-19T10:00:06.412Z',
  seconds: { find: 1.2, answer: 4.1 },
  reused: false,
  self: `/api/runs/${run}/answers/${id}?repository=octo%2Ftools`,
}
