// How much of the project takes part in one event: the files and functions that are called for a question that needs work, for a stored answer
// and for a push. What is called while a module loads is not counted, nor are emulators, the platform's server and the programs inside sandboxes:
// they run in other processes.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'
import { repositoryRoot } from '../cli/sandbox-program.js'
import { type LocalGitHub, startGitHub } from '../emulators/github/server.js'
import type { Measured, ReachReport } from './reach-process.js'
import { repositoryName, type Summarised, startSummarised } from './service-fixture.js'

interface Event {
  name: string
  goal: { files: number; functions: number }
  /** It happens twice. The first time tells which modules to load before the second is counted. */
  process(round: 1 | 2): Pick<Measured, 'entry' | 'request'> & { environment: Record<string, string> }
}

export async function benchReach(root = repositoryRoot): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-reach-'))
  try {
    await copySources(root, folder)
    await using summarised = await startSummarised()
    await using github = await startGitHub()
    process.stdout.write('\nReach: files and functions of the project that are called\n')
    for (const event of [...questions(folder, summarised), await push(folder, summarised, github)]) {
      const { name, goal } = event
      const files = await measure(folder, event)
      const named = sum(files.map((file) => file.named))
      const callbacks = sum(files.map((file) => file.callbacks))
      process.stdout.write(
        `  ${name}: ${files.length} files (goal ${goal.files}), ${named} named functions (goal ${goal.functions}), ${callbacks} callbacks\n`,
      )
      for (const { path, ...counts } of files)
        process.stdout.write(`    ${String(counts.named + counts.callbacks).padStart(3)}  ${path}\n`)
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The Action finds the programs of the sandboxes beside itself, as in `dist`. */
async function copySources(root: string, folder: string): Promise<void> {
  for (const name of ['src', 'api', 'dist', 'package.json'])
    await cp(join(root, name), join(folder, name), { recursive: true })
  for (const name of ['survey', 'search'])
    await cp(join(root, `dist/sandbox-${name}.js`), join(folder, `src/action/sandbox-${name}.js`))
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
}

function questions(folder: string, { environment, question, token }: Summarised): Event[] {
  const entry = join(folder, 'api/ask.ts')
  const ask = (words: string) => ({
    entry,
    environment,
    request: {
      path: '/api/ask',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify(question(words)),
    },
  })
  return [
    {
      name: 'a question that needs work',
      goal: { files: 50, functions: 330 },
      process: (round) => ask(`How is a run sealed, asked for the ${round}. time?`),
    },
    {
      name: 'a stored answer',
      goal: { files: 28, functions: 140 },
      process: () => ask('What does a reader of a run check?'),
    },
  ]
}

async function push(folder: string, summarised: Summarised, github: LocalGitHub): Promise<Event> {
  const { environment, cloneUrl, sha } = summarised
  const { id } = github.addRepository({ name: repositoryName, directory: repositoryRoot, private: false })
  const ref = 'refs/heads/main'
  const payload = { ref, before: '0'.repeat(40), after: sha, deleted: false }
  const repository = { id, full_name: repositoryName, private: false, default_branch: 'main' }
  await writeFile(join(folder, 'event.json'), JSON.stringify({ ...payload, repository }))
  const job = {
    'INPUT_GITHUB-TOKEN': github.issueToken({ permissions: { contents: 'read' } }),
    GITHUB_EVENT_NAME: 'push',
    GITHUB_EVENT_PATH: join(folder, 'event.json'),
    GITHUB_REPOSITORY: repositoryName,
    GITHUB_REPOSITORY_ID: String(id),
    GITHUB_SHA: sha,
    GITHUB_REF: ref,
    GITHUB_RUN_ID: '1',
    GITHUB_RUN_ATTEMPT: '1',
    GITHUB_SERVER_URL: new URL(cloneUrl).origin,
    GITHUB_API_URL: github.apiUrl,
    RUNNER_TEMP: folder,
  }
  return {
    name: 'a push',
    goal: { files: 60, functions: 350 },
    process(round) {
      const settings = { ...environment, DRIVE9_ROOT: `/push-${round}` }
      const inputs = Object.entries(settings).map(([name, value]) => [`INPUT_${name.replaceAll('_', '-')}`, value])
      return { entry: join(folder, 'src/action/main.ts'), environment: { ...job, ...Object.fromEntries(inputs) } }
    },
  }
}

/** Only files with a function that was called, in the order in which they were loaded. */
async function measure(folder: string, event: Event) {
  const prefix = pathToFileURL(join(folder, '/')).href
  const isOwn = (url: string) => url.startsWith(prefix) && !url.includes('/node_modules/')
  const { loaded } = await run(folder, event, 1, [])
  const entry = pathToFileURL(event.process(1).entry).href
  const { called } = await run(
    folder,
    event,
    2,
    loaded.filter((url) => isOwn(url) && url !== entry),
  )
  return Object.entries(called)
    .filter(([url]) => isOwn(url))
    .map(([url, counts]) => ({ path: url.slice(prefix.length), ...counts }))
}

const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0)

async function run(folder: string, event: Event, round: 1 | 2, modules: string[]): Promise<ReachReport> {
  const { environment, ...rest } = event.process(round)
  const reportFile = join(folder, 'report.json')
  const measured: Measured = { ...rest, modules, reportFile }
  const loader = join(repositoryRoot, 'src/build/ts-loader.mjs')
  const program = join(import.meta.dirname, 'reach-process.ts')
  const child = spawn(process.execPath, ['--import', loader, program, JSON.stringify(measured)], {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  if (code !== 0) throw new Error(`${event.name}: ${basename(program)} ended with ${code}\n${output}${errors}`)
  return JSON.parse(await readFile(reportFile, 'utf8')) as ReachReport
}
