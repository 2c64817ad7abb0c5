// `npm run prune`: says what would be removed of what handoff keeps on drive9, and with `--yes` removes it.
import {
  createContext,
  fullName,
  type GitHub,
  HandoffError,
  makeGitHub,
  type PruneRequest,
  parseRepository,
  parseSettings,
  planPrune,
  prune,
  type Repository,
} from '../handoff/index.js'
import { type Given, runCommand } from './command-line.js'
import { readEnvironment } from './load-env.js'
import { planAsJson, planAsText, prunedAsJson, prunedAsText } from './prune-report.js'
import { programText } from './sandbox-program.js'

const command = {
  name: 'prune',
  description: `Says what would be removed of what handoff keeps on drive9; removes it with --yes.

Whatever the limits say, these stay: what a ref points to, what an open pull request needs, the newest run of each branch,
and a run that was asked about in the last hour. HANDOFF_GITHUB_TOKEN or GITHUB_TOKEN lets it see which pull requests are
open; HANDOFF_CLONE_TOKEN lets it see the branches of private repositories.`,
  options: {
    repository: { type: 'string', value: 'OWNER/NAME', help: 'one repository; all under DRIVE9_ROOT when absent' },
    host: {
      type: 'string',
      value: 'HOST',
      help: 'its git host; that of GITHUB_SERVER_URL, or github.com, when absent',
    },
    'keep-days': { type: 'string', value: 'DAYS', default: '90', help: 'sealed runs older than this go' },
    'keep-runs': {
      type: 'string',
      value: 'COUNT',
      default: '50',
      help: 'and those that have so many newer ones in their repository',
    },
    'unfinished-hours': {
      type: 'string',
      value: 'HOURS',
      default: '1',
      help: 'attempts without a write for so long go; never sooner than a run may take',
    },
    'closed-pulls': {
      type: 'boolean',
      help: 'without a GitHub token: refs of pull requests go too when they are older than --keep-days',
    },
    'clone-url': {
      type: 'string',
      value: 'URL',
      help: 'where to ask for branches; https://<host>/<owner>/<name>.git when absent',
    },
    'no-git': { type: 'boolean', help: 'do not ask the git host; refs of branches stay' },
    yes: { type: 'boolean', help: 'do it' },
    json: { type: 'boolean', help: 'as JSON, one object' },
  },
  example: 'prune -- --repository owner/name --keep-days 30',
  cost: 'nothing; no sandbox and no model. It reads drive9 and the git host.',
} as const

type Flags = Given<typeof command.options>['values']

function whole(flags: Flags, name: 'keep-days' | 'keep-runs' | 'unfinished-hours'): number {
  const text = flags[name]
  if (/^\d{1,6}$/.test(text)) return Number(text)
  throw new HandoffError('invalid-input', `--${name} is not a whole number.`, { next: 'See npm run prune -- --help.' })
}

function requestOf(flags: Flags, environment: NodeJS.ProcessEnv): PruneRequest {
  const { repository, 'clone-url': address } = flags
  if (address !== undefined && repository === undefined) {
    throw new HandoffError('invalid-input', '--clone-url is the address of one repository.', {
      next: 'Say which one with --repository owner/name.',
    })
  }
  const github = gitHubOf(environment)
  return {
    ...(repository === undefined ? {} : { repository: parseRepository(repository, flags.host ?? hostOf(environment)) }),
    keepDays: whole(flags, 'keep-days'),
    keepRuns: whole(flags, 'keep-runs'),
    unfinishedHours: whole(flags, 'unfinished-hours'),
    closedPulls: flags['closed-pulls'] ?? false,
    ...(flags['no-git'] ? {} : { cloneUrl: (of: Repository) => address ?? `https://${of.host}/${fullName(of)}.git` }),
    ...(github ? { github } : {}),
  }
}

function hostOf(environment: NodeJS.ProcessEnv): string {
  const serverUrl = environment['GITHUB_SERVER_URL']?.trim() || 'https://github.com'
  return URL.canParse(serverUrl) ? new URL(serverUrl).host : ''
}

/** A token of one GitHub says nothing of repositories elsewhere. */
function gitHubOf(environment: NodeJS.ProcessEnv): ((repository: Repository) => GitHub | undefined) | undefined {
  const token = environment['HANDOFF_GITHUB_TOKEN']?.trim() || environment['GITHUB_TOKEN']?.trim()
  if (!token) return undefined
  const serverUrl = environment['GITHUB_SERVER_URL']?.trim() || 'https://github.com'
  const apiUrl = environment['GITHUB_API_URL']?.trim() || 'https://api.github.com'
  const github = makeGitHub({ apiUrl, serverUrl, credentials: { token }, userAgent: 'handoff' })
  return (repository) => (repository.host === hostOf(environment) ? github : undefined)
}

await runCommand(command, async ({ values: flags }) => {
  const given = readEnvironment()
  // No sandbox and no model is asked for anything.
  const environment = { E2B_API_KEY: 'unused', LLM_API_KEY: 'unused', LLM_MODEL: 'unused', ...given }
  const context = createContext(parseSettings(environment), { program: programText, emit: () => undefined })
  const signal = AbortSignal.timeout(60 * 60_000)
  const plan = await planPrune(requestOf(flags, given), context, signal)
  const show = (text: string) => process.stdout.write(text)
  if (!flags.json) show(planAsText(plan, flags.yes ?? false))
  if (!flags.yes) {
    if (flags.json) show(planAsJson(plan))
    return 0
  }
  const done = await prune(plan, context, signal, (one) => (flags.json ? undefined : show(prunedAsText(one))))
  if (flags.json) show(prunedAsJson(plan, done))
  return done.some(({ outcome }) => outcome === 'failed') ? 1 : 0
})
