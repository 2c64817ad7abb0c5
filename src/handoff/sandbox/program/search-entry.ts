// The program in Sandbox B. The shell that starts it begins a read-only mount; beside that it searches the commit by the index that Sandbox A made, and reads only the ranges of
// the stored clone that it needs. Without an index, or where something in it does not fit, it fetches and unpacks the clone and searches that in a child
// process. No result leaves before the mount has shown the sealed directory. A follow-up round uses what is there.
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { PackedObject } from '../../domain/git-proof.js'
import { artifact } from '../../domain/run.js'
import type { FindTask } from '../../domain/sandbox-protocol.js'
import { type DirectoryWords, decodeSummaryRecord } from '../../domain/summary/summary-record.js'
import type { Outline } from '../../domain/survey.js'
import { awaitedLater, pause } from '../../util/abort.js'
import { fetchArtifact, mount, readBegunMount } from './drive9-mount.js'
import { emit, timeStep } from './emit-record.js'
import { adoptObjects, unpack } from './git-clone.js'
import { type Secrets, startProgram, unknownWork } from './main.js'
import { openRunFiles, readSealed } from './run-files.js'
import type { CommitSource } from './search/commit-source.js'
import { answerRequests, type FollowUpResult } from './search/follow-up.js'
import { openGitSource } from './search/git-source.js'
import { findInCorpus, type SearchResult, wantedKeys } from './search/index.js'
import { openStoredSource } from './search/stored-source.js'
import { untrustedAccount } from './spawn.js'
import { runChild, untilReady } from './untrusted-child.js'
import { cloneDirectory, homeDirectory, prepareWorkDirectory, workDirectory } from './workspace.js'

/** An address opens a file of the run as the token does, so no child process gets one. */
async function runSearch({ addresses = {}, tableStart, ...task }: FindTask, secrets: Secrets): Promise<void> {
  // A read-only mount loses no data and ends with its sandbox.
  const mounting = () => timeStep('mount', () => mount(task.mount, homeDirectory, secrets.drive, readBegunMount()))
  const proven = awaitedLater(task.again ? Promise.resolve() : mounting())
  const searched = timeStep('find', () => searchStored(task, secrets.drive, { addresses, tableStart })).catch(
    () => undefined,
  )
  const shown = searched.then(async (found) => {
    if (!found) return searchUnpacked(task, secrets, proven)
    await proven
    emitFound(found)
  })
  await Promise.all([proven, shown])
}

interface Found {
  result: SearchResult | FollowUpResult
  proof: PackedObject[]
}

async function search(
  source: CommitSource,
  { search, requests }: FindTask,
  readSummary: () => Promise<{ summary: string; words: DirectoryWords[] }>,
): Promise<Found> {
  if (requests.length > 0) {
    const result = await answerRequests({ source, search, requests })
    return { result, proof: await source.prove(result) }
  }
  const { corpus, findDefinitions } = source
  const result = await findInCorpus(corpus, { search, findDefinitions, ...(await readSummary()) })
  return { result, proof: await source.prove({ excerpts: [...result.excerpts, ...result.notes] }) }
}

function emitFound({ result, proof }: Found): void {
  for (const excerpt of result.excerpts) emit({ type: 'excerpt', ...excerpt })
  if ('notes' in result) for (const note of result.notes) emit({ type: 'notes', ...note })
  if ('cards' in result) for (const card of result.cards) emit({ type: 'card', ...card })
  if ('listings' in result) for (const listing of result.listings) emit({ type: 'listing', ...listing })
  if (result.searched) emit({ type: 'searched', ...result.searched })
  for (const object of proof) emit({ type: 'object', ...object })
}

// By the index. Only this process reads what the repository contains, and it starts no other program on it.

/** Undefined where a file is missing; rejects where something does not fit. */
async function searchStored(
  task: FindTask,
  token: string,
  { addresses, tableStart }: { addresses: Record<string, string>; tableStart: string | undefined },
): Promise<Found | undefined> {
  const stored = (path: string) => task.artifacts.find((one) => one.path === path)
  const [table, pages, tar] = [stored(artifact.searchTable), stored(artifact.searchPages), stored(task.clonePath)]
  if (!table || !pages || !tar) return undefined
  using files = openRunFiles(task.mount, token, addresses)
  const read = async (path: string) => {
    const one = stored(path)
    return one && (await files.read(one))
  }
  const kept = join(homeDirectory, 'search-table.gz')
  const isFirst = task.requests.length === 0
  const reading = awaitedLater(
    Promise.all([isFirst ? read(artifact.summary) : undefined, isFirst ? read(artifact.summaryRecord) : undefined]),
  )
  const ranges = { pages: files.open(pages), tar: files.open(tar) }
  const readTable = async () => {
    const packed = (task.again && (await readSealed(kept, table))) || (await files.read(table))
    // For the next round, which can also do without.
    awaitedLater(writeFile(kept, packed))
    return packed
  }
  const coming = awaitedLater(readTable())
  // The requests are sent before the question is parsed.
  await pause()
  await pause()
  const wanted = isFirst ? wantedKeys(task.search) : undefined
  const start = tableStart === undefined ? undefined : Buffer.from(tableStart, 'base64')
  const source = await openStoredSource({ table: coming, start, ...ranges }, task.commit, wanted)
  return await search(source, task, async () => {
    const [summary, record] = await reading
    return { summary: summary?.toString('utf8') ?? '', words: record ? decodeSummaryRecord(record).words : [] }
  })
}

// By an unpacked clone. Its objects and the outline are read by a child process of another account, because git reads them too.

async function searchUnpacked(task: FindTask, secrets: Secrets, proven: Promise<unknown>): Promise<void> {
  const isThere = task.again === true && existsSync(cloneDirectory(task.repositoryName))
  const unpacked = isThere ? Promise.resolve() : fetchAndUnpack(task, secrets)
  await Promise.all([unpacked, runChild('find', task, homeDirectory, proven, unpacked)])
}

async function fetchAndUnpack(task: FindTask, secrets: Secrets): Promise<void> {
  await prepareWorkDirectory()
  const needed = [task.clonePath, artifact.outline, artifact.summary, artifact.summaryRecord]
  const local = (path: string) =>
    join(workDirectory, path === task.clonePath ? 'clone.tar' : (path.split('/').at(-1) ?? path))
  await Promise.all(
    task.artifacts
      .filter(({ path }) => needed.includes(path))
      .map((entry) => fetchArtifact(task.mount, homeDirectory, secrets.drive, entry, local(entry.path))),
  )
  const account = untrustedAccount(homeDirectory)
  await timeStep('unpack', () => unpack(local(task.clonePath), workDirectory, task.repositoryName, account))
}

async function searchClone(task: FindTask): Promise<void> {
  await untilReady()
  await adoptObjects(workDirectory, task.repositoryName)
  const outline = JSON.parse(await readArtifact('outline.json')) as Outline
  const source = await openGitSource(cloneDirectory(task.repositoryName), task.commit, outline)
  emitFound(
    await search(source, task, async () => ({
      summary: await readArtifact('code-summary.md'),
      words: await readWords(),
    })),
  )
}

/** Old runs have no record of the summary. */
async function readWords() {
  const file = join(workDirectory, 'summary.json')
  return existsSync(file) ? decodeSummaryRecord(await readFile(file)).words : []
}

const readArtifact = (name: string) => readFile(join(workDirectory, name), 'utf8')

startProgram({
  async run(task, secrets) {
    if (task.task !== 'find') throw unknownWork('ask', task)
    await runSearch(task, secrets)
  },
  async child(what, task) {
    if (task.task === 'find' && what === 'find') return searchClone(task)
    throw unknownWork(what, task)
  },
})
