// The program in Sandbox B: mounts read-only, and beside that fetches, checks by hash, unpacks and finds what bears on the question. Nothing that
// was found leaves before the mount has shown the sealed directory. In a further round the clone is still unpacked, and it shows what the model
// asked for.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FindTask, MoreTask } from '../../domain/sandbox-protocol.js'
import type { Outline } from '../../domain/survey.js'
import { fetchArtifact, mount } from './drive9-mount.js'
import { say, timed } from './emit-record.js'
import { unpack } from './git-clone.js'
import { type Secrets, start, unknownWork } from './main.js'
import { type FoundMore, more } from './search/follow-up.js'
import { type Found, find } from './search/index.js'
import { untrustedAccount } from './spawn.js'
import { runChild } from './untrusted-child.js'
import { cloneDirectory, home, openWork, work } from './workspace.js'

async function findFor(task: FindTask, secrets: Secrets): Promise<void> {
  await openWork()
  const local = (path: string) => join(work, path === task.clonePath ? 'clone.tar' : (path.split('/').at(-1) ?? path))
  const fetched = task.artifacts.map((entry) =>
    fetchArtifact(task.mount, home, secrets.drive, entry, local(entry.path)),
  )
  // A read-only mount has nothing to lose, and ends with its machine.
  const proven = timed('mount', () => mount(task.mount, home, secrets.drive, true))
  const search = async () => {
    await Promise.all(fetched)
    await timed('unpack', () => unpack(local(task.clonePath), work, untrustedAccount(home)))
    await timed('find', () => runChild('find', task, home, proven))
  }
  await Promise.all([proven, search()])
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
  const { length } = found.unnamable
  if (length === 0) return
  const names = found.unnamable.slice(0, 5).map((name) => JSON.stringify(name.slice(0, 100)))
  const rest = length > names.length ? ` and ${length - names.length} more` : ''
  const what =
    length === 1
      ? 'One file was not searched, because its name'
      : `${length} files were not searched, because their names`
  say({ type: 'notice', text: `${what} cannot be cited: ${names.join(', ')}${rest}.` })
}

async function findMore(task: MoreTask): Promise<void> {
  const gitDirectory = cloneDirectory(task.repositoryName)
  const { commit, search, requests } = task
  tell(await more({ gitDirectory, commit, search, requests }))
}

function tell(found: Omit<Found, 'unnamable'> & Partial<Pick<FoundMore, 'listings'>>): void {
  for (const excerpt of found.excerpts) say({ type: 'excerpt', ...excerpt })
  for (const listing of found.listings ?? []) say({ type: 'listing', ...listing })
  say({ type: 'searched', ...found.searched })
}

const readText = (name: string) => readFile(join(work, name), 'utf8')

start({
  async run(task, secrets) {
    if (task.task === 'find') await findFor(task, secrets)
    else if (task.task === 'more') await runChild('more', task, home)
    else throw unknownWork('ask', task)
  },
  async child(what, task) {
    if (what === 'find' && task.task === 'find') return findIn(task)
    if (what === 'more' && task.task === 'more') return findMore(task)
    throw unknownWork(what, task)
  },
})
