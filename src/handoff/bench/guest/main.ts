// The program that runs inside a sandbox. Started without an argument it does the task in HANDOFF_TASK; with one it is its own child and
// does the part of the task that touches the repository.
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { FindTask, GuestTask, MoreTask, SummariseTask } from '../../library/records.js'
import { artifact } from '../../library/run.js'
import type { Outline } from '../../library/survey.js'
import { type ChildWork, runChild } from './children.js'
import { clone, unpack } from './clone.js'
import { find, more } from './find/index.js'
import { fetchArtifact, type Mount, mount } from './mount.js'
import { untrustedAccount } from './programs.js'
import { GuestError, say, timed } from './speak.js'
import { survey } from './survey/index.js'
import { plantTree, storeTree } from './tree.js'

const home = homedir()
/** Where untrusted work happens: on the local disk, owned by the account that does it. */
const work = join(home, 'work')

async function summarise(task: SummariseTask, secrets: Secrets): Promise<void> {
  await openWork()
  const account = untrustedAccount(home)
  const [mounted, local] = await bothOrNeither(
    timed('mount', () => mount(task.mount, home, secrets.drive, false)),
    timed('clone', () => clone(task, work, secrets.clone, account)),
  )
  await bothOrNeither(
    timed('store', () => mounted.store(local.tar, `project/${task.repositoryName}.git.tar`)),
    timed('survey', () => runChild('survey', task, home)),
  )
  await timed('store', () => storeTables(mounted))
  if (task.form === 'plain') await timed('store', () => plainForm(task, mounted))
  await timed('drain', async () => {
    await mounted.drain()
    await mounted.release()
  })
}

async function storeTables(mounted: Mount): Promise<void> {
  await bothOrNeither(
    mounted.store(join(work, 'files.json'), artifact.files),
    mounted.store(join(work, 'outline.json'), artifact.outline),
  )
}

async function plainForm(task: SummariseTask, mounted: Mount): Promise<void> {
  await runChild('tree', task, home)
  await storeTree(join(work, 'tree'), join(work, 'tree.json'), mounted, `project/${task.repositoryName}`)
}

async function findFor(task: FindTask, secrets: Secrets): Promise<void> {
  await openWork()
  const local = (path: string) => join(work, path === task.clonePath ? 'clone.tar' : (path.split('/').at(-1) ?? path))
  const fetched = task.artifacts.map((entry) =>
    fetchArtifact(task.mount, home, secrets.drive, entry, local(entry.path)),
  )
  const [mounted] = await timed('mount', () =>
    bothOrNeither(mount(task.mount, home, secrets.drive, true), Promise.all(fetched)),
  )
  // Nothing is read through the mount from here on: what was fetched is proven by its hash.
  const released = mounted.release()
  await timed('unpack', () => unpack(local(task.clonePath), work, untrustedAccount(home)))
  await timed('find', () => runChild('find', task, home))
  await released
}

async function child(what: ChildWork, task: GuestTask): Promise<void> {
  if (what === 'survey' && task.task === 'summarise') return surveyClone(task)
  if (what === 'tree' && task.task === 'summarise') {
    return plantTree(cloneDirectory(task.repositoryName), task.clone.sha, join(work, 'tree'), join(work, 'tree.json'))
  }
  if (what === 'find' && task.task === 'find') return findIn(task)
  if (what === 'more' && task.task === 'more') return findMore(task)
  throw new GuestError('internal', `there is no work called ${what} for the task ${task.task}`)
}

async function surveyClone(task: SummariseTask): Promise<void> {
  const {
    table,
    outline,
    texts,
    survey: seen,
  } = await survey({
    gitDirectory: cloneDirectory(task.repositoryName),
    commit: task.clone.sha,
    limits: task.survey,
  })
  await writeFile(join(work, 'files.json'), `${JSON.stringify(table)}\n`)
  await writeFile(join(work, 'outline.json'), `${JSON.stringify(outline)}\n`)
  say({ type: 'survey', ...seen })
  for await (const text of texts) say({ type: 'text', ...text })
}

async function findIn(task: FindTask): Promise<void> {
  const [summary, outline] = await Promise.all([readText('code-summary.md'), readText('outline.json')])
  const found = await find({
    gitDirectory: cloneDirectory(task.repositoryName),
    commit: task.commit,
    search: task.search,
    summary,
    outline: JSON.parse(outline) as Outline,
  })
  tell(found)
}

async function findMore(task: MoreTask): Promise<void> {
  const found = await more({
    gitDirectory: cloneDirectory(task.repositoryName),
    commit: task.commit,
    search: task.search,
    requests: task.requests,
  })
  tell(found)
}

function tell(found: Awaited<ReturnType<typeof more>>): void {
  for (const excerpt of found.excerpts) say({ type: 'excerpt', ...excerpt })
  for (const listing of found.listings ?? []) say({ type: 'listing', ...listing })
  say({ type: 'searched', ...found.searched })
}

const readText = (name: string) => readFile(join(work, name), 'utf8')
const cloneDirectory = (repositoryName: string) => join(work, `${repositoryName}.git`)

/** A directory of its own for the account that reads the repository; a second walk in the same machine starts clean. */
async function openWork(): Promise<void> {
  await rm(work, { recursive: true, force: true })
  await mkdir(work, { recursive: true })
  if (untrustedAccount(home)) {
    // The way there must be open to an account that is not ours; nothing in the home itself is readable by it.
    await chmod(home, 0o711)
    await chmod(work, 0o777)
  }
}

/** Side by side; when one fails the other is waited for, so that nothing goes on behind our back, and the first failure is told. */
async function bothOrNeither<A, B>(first: Promise<A>, second: Promise<B>): Promise<[A, B]> {
  const [a, b] = await Promise.allSettled([first, second])
  if (a.status === 'rejected') throw a.reason
  if (b.status === 'rejected') throw b.reason
  return [a.value, b.value]
}

interface Secrets {
  drive: string
  clone: string
}

/** Takes the secrets out of our own environment, so that no child inherits them by accident. */
function takeSecrets(): Secrets {
  const drive = process.env['DRIVE9_API_KEY'] ?? ''
  const cloneToken = process.env['HANDOFF_CLONE_TOKEN'] ?? ''
  delete process.env['DRIVE9_API_KEY']
  delete process.env['HANDOFF_CLONE_TOKEN']
  return { drive, clone: cloneToken }
}

async function main(): Promise<void> {
  const secrets = takeSecrets()
  const task = JSON.parse(process.env['HANDOFF_TASK'] ?? '{}') as GuestTask
  const what = process.argv[2] as ChildWork | undefined
  process.umask(0o022)
  if (what !== undefined) return child(what, task)
  if (task.task === 'summarise') await summarise(task, secrets)
  else if (task.task === 'find') await findFor(task, secrets)
  else await runChild('more', task, home)
  say({ type: 'done' })
}

main().catch((error: unknown) => {
  const failure = error instanceof GuestError ? error.failure : 'internal'
  say({
    type: 'failed',
    code: failure,
    message: error instanceof Error ? error.message.slice(0, 500) : 'it did not say why',
  })
  process.exitCode = 1
})
