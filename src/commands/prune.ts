// `npm run prune`: says what would be removed of what handoff keeps on drive9, and with `--yes` removes it.
import { parseArgs } from 'node:util'
import {
  connect,
  fullName,
  type GitHub,
  HandoffError,
  isHandoffError,
  makeGitHub,
  type PruneRequest,
  parseRepository,
  parseSettings,
  planPrune,
  prune,
  type Repository,
} from '../handoff/index.js'
import { readEnvironment } from './environment.js'
import { programText } from './program.js'
import { planAsJson, planAsText, prunedAsJson, prunedAsText } from './prune-report.js'

const usage = `Usage: npm run prune -- [options]

Says what would be removed of what handoff keeps on drive9; removes it with --yes.

  --repository owner/name   one repository; all under DRIVE9_ROOT when absent
  --host name               its git host; that of GITHUB_SERVER_URL, or github.com, when absent
  --keep-days 90            sealed runs older than this go
  --keep-runs 50            and those that have so many newer ones in their repository
  --unfinished-hours 24     attempts that nobody has written to for so long go; never sooner than a walk may take
  --closed-pulls            without a GitHub token: refs of pull requests go too once nobody wrote them for --keep-days
  --clone-url address       where to ask for branches; https://<host>/<owner>/<name>.git when absent
  --no-git                  do not ask the git host; refs of branches stay
  --yes                     do it
  --json                    as JSON, one object
  --help

Whatever the limits say, these stay: what a ref points to, what an open pull request needs, the newest run of each branch, and a run that
somebody asked about in the last hour. HANDOFF_GITHUB_TOKEN or GITHUB_TOKEN lets it see which pull requests are open; HANDOFF_CLONE_TOKEN lets
it see the branches of private repositories.
`

const options = {
  repository: { type: 'string' },
  host: { type: 'string' },
  'keep-days': { type: 'string', default: '90' },
  'keep-runs': { type: 'string', default: '50' },
  'unfinished-hours': { type: 'string', default: '24' },
  'closed-pulls': { type: 'boolean', default: false },
  'clone-url': { type: 'string' },
  'no-git': { type: 'boolean', default: false },
  yes: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const

type Flags = ReturnType<typeof readFlags>

function readFlags(words: string[]) {
  try {
    return parseArgs({ args: words, options, strict: true, allowPositionals: false }).values
  } catch (error) {
    const message = error instanceof Error ? error.message : 'The options cannot be read.'
    throw new HandoffError('invalid-input', message, { next: 'See npm run prune -- --help.' })
  }
}

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
    closedPulls: flags['closed-pulls'],
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

async function main(): Promise<void> {
  const flags = readFlags(process.argv.slice(2))
  if (flags.help) {
    process.stdout.write(usage)
    return
  }
  const given = readEnvironment()
  // No sandbox and no model is asked for anything.
  const environment = { E2B_API_KEY: 'unused', LLM_API_KEY: 'unused', LLM_MODEL: 'unused', ...given }
  const house = connect(parseSettings(environment), { program: programText, emit: () => undefined })
  const signal = AbortSignal.timeout(60 * 60_000)
  const plan = await planPrune(requestOf(flags, given), house, signal)
  const show = (text: string) => process.stdout.write(text)
  if (!flags.json) show(planAsText(plan, flags.yes))
  if (!flags.yes) {
    if (flags.json) show(planAsJson(plan))
    return
  }
  const done = await prune(plan, house, signal, (one) => (flags.json ? undefined : show(prunedAsText(one))))
  if (flags.json) show(prunedAsJson(plan, done))
  if (done.some(({ outcome }) => outcome === 'failed')) process.exitCode = 1
}

try {
  await main()
} catch (error) {
  if (!isHandoffError(error)) throw error
  process.stderr.write(`${error.message}${error.next ? `\n${error.next}` : ''}\n`)
  process.exitCode = 1
}
