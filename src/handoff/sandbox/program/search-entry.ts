// The program in Sandbox B. It mounts read-only; beside that it fetches artifacts, checks their hashes, unpacks the clone and searches it.
// No result leaves before the mount has shown the sealed directory. A follow-up round reads the clone that is already unpacked.
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { deflateRawSync } from 'node:zlib'
import type { ObjectKind } from '../../domain/git-proof.js'
import type { FindTask, MoreTask } from '../../domain/sandbox-protocol.js'
import { type DirectoryWords, decodeSummaryRecord } from '../../domain/summary/summary-record.js'
import type { Outline } from '../../domain/survey.js'
import { fetchArtifact, mount } from './drive9-mount.js'
import { emit, timeStep } from './emit-record.js'
import { adoptObjects, unpack } from './git-clone.js'
import { type Secrets, startProgram, unknownWork } from './main.js'
import { answerRequests, type FollowUpResult } from './search/follow-up.js'
import { find, type SearchResult } from './search/index.js'
import { untrustedAccount } from './spawn.js'
import { gitAt, openBlobReader } from './survey/git-objects.js'
import { runChild, untilReady } from './untrusted-child.js'
import { cloneDirectory, homeDirectory, prepareWorkDirectory, workDirectory } from './workspace.js'

async function runSearch(task: FindTask, secrets: Secrets): Promise<void> {
  await prepareWorkDirectory()
  const local = (path: string) =>
    join(workDirectory, path === task.clonePath ? 'clone.tar' : (path.split('/').at(-1) ?? path))
  const fetched = task.artifacts.map((entry) =>
    fetchArtifact(task.mount, homeDirectory, secrets.drive, entry, local(entry.path)),
  )
  // A read-only mount loses no data and ends with its sandbox.
  const proven = timeStep('mount', () => mount(task.mount, homeDirectory, secrets.drive, true))
  const unpacked = Promise.all(fetched).then(() => {
    const account = untrustedAccount(homeDirectory)
    return timeStep('unpack', () => unpack(local(task.clonePath), workDirectory, task.repositoryName, account))
  })
  const searched = runChild('find', task, homeDirectory, proven, unpacked)
  await Promise.all([proven, unpacked.then(() => timeStep('find', () => searched)), searched])
}

async function searchClone(task: FindTask | MoreTask): Promise<void> {
  if (task.task === 'find') {
    await untilReady()
    await adoptObjects(workDirectory, task.repositoryName)
  }
  if (task.requests.length > 0) return answerFollowUp(task)
  const [summary, outline, words, wordIndex] = await Promise.all([
    readArtifact('code-summary.md'),
    readOutline(),
    readWords(),
    readWordIndexFile(),
  ])
  const found = await find({
    gitDirectory: cloneDirectory(task.repositoryName),
    commit: task.commit,
    search: task.search,
    summary,
    outline,
    words,
    wordIndex,
  })
  emitResult(found)
  const excerpts = [...found.excerpts, ...found.notes]
  await emitProof(cloneDirectory(task.repositoryName), task.commit, { excerpts })
}

async function answerFollowUp(task: FindTask | MoreTask): Promise<void> {
  const gitDirectory = cloneDirectory(task.repositoryName)
  const { commit, search, requests } = task
  const [outline, wordIndex] = await Promise.all([readOutline(), readWordIndexFile()])
  const found = await answerRequests({ gitDirectory, commit, search, requests, outline, wordIndex })
  emitResult(found)
  await emitProof(gitDirectory, commit, found)
}

function emitResult(found: SearchResult | FollowUpResult): void {
  for (const excerpt of found.excerpts) emit({ type: 'excerpt', ...excerpt })
  if ('notes' in found) for (const note of found.notes) emit({ type: 'notes', ...note })
  if ('cards' in found) for (const card of found.cards) emit({ type: 'card', ...card })
  if ('listings' in found) for (const listing of found.listings) emit({ type: 'listing', ...listing })
  if (found.searched) emit({ type: 'searched', ...found.searched })
}

/** Old runs have no record of the summary. */
async function readWords(): Promise<DirectoryWords[]> {
  const file = join(workDirectory, 'summary.json')
  return existsSync(file) ? decodeSummaryRecord(await readFile(file)).words : []
}

/** Old runs have none. */
async function readWordIndexFile(): Promise<Uint8Array | undefined> {
  const file = join(workDirectory, 'words.gz')
  return existsSync(file) ? readFile(file) : undefined
}

const readOutline = async () => JSON.parse(await readArtifact('outline.json')) as Outline
const readArtifact = (name: string) => readFile(join(workDirectory, name), 'utf8')

startProgram({
  async run(task, secrets) {
    if (task.task === 'find') await runSearch(task, secrets)
    else if (task.task === 'more') await runChild('more', task, homeDirectory)
    else throw unknownWork('ask', task)
  },
  async child(what, task) {
    if (task.task === what) return searchClone(task)
    throw unknownWork(what, task)
  },
})

// Sends the git objects that lead from the commit to what is shown, so that the host need not believe this sandbox.

async function emitProof(
  gitDirectory: string,
  commit: string,
  shown: { excerpts: readonly { path: string; blob: string }[]; listings?: readonly { path: string }[] },
): Promise<void> {
  const directories = new Set(['', ...shown.excerpts.flatMap(({ path }) => parentsOf(path))])
  for (const { path } of shown.listings ?? []) for (const one of [path, ...parentsOf(path)]) directories.add(one)
  const objects: { kind: ObjectKind; name: string }[] = [
    { kind: 'commit', name: commit },
    ...[...directories]
      .filter((path) => !/[\n\r]/.test(path))
      .map((path) => ({ kind: 'tree' as const, name: path === '' ? `${commit}^{tree}` : `${commit}:${path}` })),
    ...[...new Set(shown.excerpts.map(({ blob }) => blob))].map((name) => ({ kind: 'blob' as const, name })),
  ]
  const names = objects.map(({ name }) => name)
  await openBlobReader(gitAt(gitDirectory), 'many').read(names, (index, bytes) => {
    if (!bytes) return
    const data = deflateRawSync(bytes, { level: 1 }).toString('base64')
    emit({ type: 'object', kind: objects[index]!.kind, data })
  })
}

/** `a/b/c.ts` → `a`, `a/b`. */
function parentsOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1)
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'))
}
