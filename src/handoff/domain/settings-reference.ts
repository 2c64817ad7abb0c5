// Every setting there is, with a sentence each. `.env.example` and the README's tables are generated from this table.

import { type Depth, depthLimits, depths } from './answers/depth.js'
import { maxQuestionCost } from './answers/question-cost.js'
import { efforts, replyLimit } from './model-limits.js'
import { exampleModel } from './model-prices.js'

export interface Setting {
  name: string
  text: string
  /** Shown where the value may stand in a file. */
  example?: string
  group: 'sandboxes' | 'durable directory' | 'model' | 'git host' | 'limits' | 'service' | 'server of your own'
}

const described: Record<Setting['group'], Record<string, string | { example: string; text: string }>> = {
  sandboxes: {
    E2B_API_KEY: 'Key of the E2B account that the sandboxes run in.',
    E2B_TEMPLATE:
      'Template of the sandboxes. When empty it is handoff’s own: the first run prepares a sandbox of E2B’s `base` and has the template built for the next ones. `base` is prepared at every start.',
    E2B_API_URL: 'Address of the control plane of a self-hosted E2B, where it is not api.<domain>.',
    E2B_SANDBOX_URL: 'Address of the sandboxes of a self-hosted E2B, where one address serves them all.',
    E2B_DOMAIN: 'Domain of a self-hosted E2B; e2b.app when empty.',
  },
  'durable directory': {
    DRIVE9_API_KEY:
      'Owner key of the drive9 account. It stays with the host; sandboxes get short-lived tokens for one directory.',
    DRIVE9_SERVER: {
      example: 'https://api.drive9.ai',
      text: 'Address of drive9, as the host and the sandboxes reach it.',
    },
    DRIVE9_ROOT: { example: '/handoff', text: 'Directory on drive9 for all stored data.' },
    DRIVE9_OBJECT_HOSTS: 'Hosts of its object storage, separated by commas, for the egress list of sandboxes.',
    DRIVE9_BINARY_URL: {
      example: 'https://drive9.ai/releases/drive9-linux-amd64',
      text: 'Where the drive9 program is downloaded from for the template and for sandboxes of `base`; checksums.txt beside it tells its sha256.',
    },
    DRIVE9_BINARY_SHA256: 'Pins the drive9 program to this sha256; the published one is taken when empty.',
    HANDOFF_JOURNAL:
      'When true, seals, answers, corrections, removals and refused questions are noted in drive9’s journal, where nothing can be changed or removed later. `npm run audit` reads it. The notes have the questions and corrections in them.',
  },
  model: {
    LLM_API_KEY: 'Key of the model service; any text for a server that wants none.',
    LLM_BASE_URL: {
      example: 'https://api.openai.com/v1',
      text: 'Address of an OpenAI-compatible service, the part before /chat/completions.',
    },
    LLM_MODEL: `Name of the model, as the service calls it: ${exampleModel} for instance.`,
    LLM_CONTEXT_TOKENS: {
      example: '128000',
      text: 'Tokens that the model takes in one request, input and output together.',
    },
    LLM_MAX_OUTPUT_TOKENS:
      'Tokens that one reply may have at most, thinking included: the most that the model writes. Without it a reply has what its text needs and room for thinking, four times as much in a second try.',
    LLM_REASONING_EFFORT: `How much a model thinks before it writes: ${efforts.join(', ')}. The model's own when empty. Thinking is paid as output.`,
    LLM_CONCURRENCY:
      'Requests to the model at once: 8 for a summary when empty, and one for each question. For a server that serves one at a time, write 1. A server that is too busy gets fewer by itself.',
    LLM_FIRST_TOKEN_SECONDS: {
      example: '120',
      text: 'Seconds that a model may be silent before its first text, counted from the end of the requests sent before. On a CPU it may need more.',
    },
    LLM_PRICE_INPUT:
      'US dollars for a million input tokens, also for those that come from a cache. Without it, and for a model that is not in the table, no price is shown.',
    LLM_PRICE_OUTPUT: 'US dollars for a million output tokens.',
    HANDOFF_INSTRUCTIONS:
      'What the model should know of your repositories: words of your team, conventions. It is quoted to the model beside AGENTS.md, as a note and not as a rule.',
  },
  'git host': {
    HANDOFF_CLONE_TOKEN: 'Token that can read private repositories and nothing else.',
  },
  limits: {
    HANDOFF_MAX_INPUT_TOKENS: { example: '400000', text: 'Input tokens that one summary may cost.' },
    HANDOFF_MAX_COST: 'US dollars that one summary may cost; needs a known price.',
    HANDOFF_DEADLINE_SECONDS: { example: '900', text: 'Seconds after which a summary or an answer is given up.' },
    HANDOFF_DEPTH: {
      example: 'normal',
      text: `How deep a question is looked into that does not say it: ${depths.map(describeDepth).join('; ')}.`,
    },
  },
  service: {
    HANDOFF_BEARERS:
      'Who may ask the service: `name=<sha256 of the token in hex>=owner/name,owner/*`, several separated by `;`. A repository may carry its number: `owner/name#123`. With `+comment` in that list the caller may have its answers posted as comments.',
    HANDOFF_OIDC_AUDIENCE:
      'Address of this deployment. With it, jobs of GitHub Actions may ask about their own repository with a token made for this audience.',
    HANDOFF_OIDC_REPOSITORIES:
      'Repositories whose jobs may ask: `owner/name`, `owner/*` or `*`, separated by commas. Needed with `HANDOFF_OIDC_AUDIENCE`.',
    HANDOFF_OIDC_ISSUER: {
      example: 'https://token.actions.githubusercontent.com',
      text: 'Who issues those tokens: `https://<host>/_services/token` for an Enterprise Server.',
    },
    HANDOFF_WEBHOOK_SECRETS: 'Secret of the GitHub webhook; two, separated by a comma, while one replaces the other.',
    HANDOFF_E2B_WEBHOOK_SECRETS:
      'Secret of the lifecycle webhook of E2B; two, separated by a comma, while one replaces the other.',
    HANDOFF_GITHUB_TOKEN: 'Fine-grained token that writes comments (pull requests: write), where there is no App.',
    HANDOFF_APP_ID: 'Number of the GitHub App that writes comments.',
    HANDOFF_APP_PRIVATE_KEY: 'Private key of that App, as downloaded; line ends may be written as \\n.',
    HANDOFF_APP_CLIENT_ID:
      'Client id of a GitHub App, with which people sign in. Its callback address is `/api/auth/callback` of this deployment.',
    HANDOFF_APP_CLIENT_SECRET: 'Client secret of that App.',
    HANDOFF_SESSION_SECRET:
      'At least 32 random characters, which encrypt the sessions of people. Another value ends all sessions.',
    HANDOFF_SIGN_IN_REPOSITORIES:
      'Repositories about which people may ask who signed in and may read them on GitHub: `owner/*` or `owner/name`, separated by commas.',
    HANDOFF_ASK_PERMISSION: {
      example: 'write',
      text: 'Permission that an account needs in a repository to ask by a comment: read, triage, write, maintain or admin.',
    },
    GITHUB_SERVER_URL: { example: 'https://github.com', text: 'The git host whose repositories are asked about.' },
    GITHUB_API_URL: { example: 'https://api.github.com', text: 'Address of its API.' },
    HANDOFF_MODELS: 'Further models that a request may name, separated by commas.',
    HANDOFF_SANDBOXES: {
      example: '20',
      text: 'Sandboxes that one process runs at once; no more than the account has.',
    },
    HANDOFF_QUEUE: { example: '400', text: 'Questions that may wait for a sandbox of one process.' },
    HANDOFF_CALLER_QUESTIONS: {
      example: '100',
      text: 'Questions of one caller that one process has at once, waiting or at work.',
    },
    HANDOFF_CALLER_TOKENS: `Tokens that one caller may spend in a day (UTC). One question may take ${mostTokens('gpt-4o')} of a model that does not think and ${mostTokens(exampleModel)} of one that does; less is refused.`,
    HANDOFF_CALLER_COST: 'US dollars that one caller may spend in a day; needs a known price.',
    HANDOFF_CORS_ORIGINS: 'Origins of other pages that may ask from a browser, separated by commas; none when empty.',
    HANDOFF_HOSTS:
      'Host names, separated by commas, under which a server of your own serves MCP; localhost and addresses always do. Vercel knows its names.',
    HANDOFF_QUEUE_URL:
      "Address of the queues' API on Vercel, where it is not Vercel's own. Elsewhere jobs wait in the memory of the process.",
  },
  'server of your own': {
    HOST: {
      example: '127.0.0.1',
      text: 'Address that `npm start` listens at; 0.0.0.0 for all addresses of the machine.',
    },
    PORT: { example: '3000', text: 'Port that `npm start` and `npm run dev` use.' },
    HANDOFF_STOP_SECONDS: {
      example: '9',
      text: 'How long running requests may take to end after the server was asked to stop, in seconds, up to 300.',
    },
  },
}

export const settingTable: Setting[] = Object.entries(described).flatMap(([group, settings]) =>
  Object.entries(settings).map(([name, value]) => ({
    group: group as Setting['group'],
    name,
    ...(typeof value === 'string' ? { text: value } : value),
  })),
)

function describeDepth(depth: Depth): string {
  const { rounds, tokens, seconds } = depthLimits[depth]
  return `${depth} shows the model up to ${tokens.toLocaleString('en-US')} tokens of lines in ${rounds === 1 ? 'one round' : `${rounds} rounds`} of ${seconds} seconds`
}

/** What a question may take of this model, at the usual settings. */
function mostTokens(name: string): string {
  const limits = { name, contextTokens: 128_000 }
  const most = maxQuestionCost({ ...limits, replyTokens: (wanted) => replyLimit(limits, wanted) }, 'normal')
  return (most.inputTokens + most.outputTokens).toLocaleString('en-US')
}
