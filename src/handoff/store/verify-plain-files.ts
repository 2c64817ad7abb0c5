// The plain form is read back before the seal. Sandbox B checks the tar when it reads it; no later reader checks these files.
//
// The rule: every file below `smallFileBytes` is compared by sha256, many with one request; of the larger ones the first, and after it one in
// `sampled`. drive9 lists no digests, and the tar beside these files, which holds every byte of them, is compared in full.

import { HandoffError } from '../domain/errors.js'
import type { Artifact } from '../domain/handoff-record.js'
import { type Drive, smallFileBytes, smallFilesAtOnce } from '../domain/ports.js'
import { artifact, type Repository } from '../domain/run.js'
import { array, count, DecodeError, decodeJson, object, sha256 as sha256Text, string } from '../util/decode.js'
import { mapConcurrent } from '../util/map-concurrent.js'
import { sha256, verificationError } from './run-store.js'

const sampled = 4
const requestsAtOnce = 4
/** The table of some 300,000 files; its size is the sandbox's own word. */
const tableBytes = 64_000_000

const table = object({
  files: array(object({ path: string(), bytes: count, sha256: sha256Text })),
  links: array(object({ path: string(), target: string() })),
})

/** `stored` is what the sandbox said it stored, the table of the plain files among it. Removes files that are not in the table, and returns their paths. */
export async function verifyPlainForm(
  drive: Drive,
  directory: string,
  repository: Repository,
  stored: Artifact[],
  signal: AbortSignal,
): Promise<string[]> {
  const { files, links } = await readTable(drive, directory, stored, signal)
  const large = files.filter(({ bytes }) => bytes >= smallFileBytes).filter((_, index) => index % sampled === 0)
  const small = files.filter(({ bytes }) => bytes < smallFileBytes)
  const batches = [...batchesOf(small, smallFilesAtOnce), ...large.map((file) => [file])]
  const place = (file: Artifact) => `${artifact.tree(repository)}/${file.path}`
  const check = async () => {
    for (let batch = batches.shift(); batch; batch = batches.shift()) {
      const paths = batch.map((file) => `${directory}/${place(file)}`)
      const isSmall = batch[0]!.bytes < smallFileBytes
      const found = isSmall ? await drive.digestSmall(paths, signal) : [await drive.digest(paths[0]!, signal)]
      const wrong = batch.findIndex((file, index) => found[index]?.sha256 !== file.sha256)
      if (wrong >= 0) throw verificationError(place(batch[wrong]!), found[wrong] ?? null)
    }
  }
  const [extra] = await Promise.all([
    removeOthers(drive, `${directory}/${artifact.tree(repository)}`, [...files, ...links], signal),
    ...Array.from({ length: requestsAtOnce }, check),
  ])
  return extra
}

/** Removes what the table does not name, and returns its paths. */
async function removeOthers(
  drive: Drive,
  top: string,
  named: readonly { path: string }[],
  signal: AbortSignal,
): Promise<string[]> {
  const expected = new Set(named.map(({ path }) => path))
  const others: string[] = []
  let folders = ['']
  while (folders.length > 0) {
    const listed = await mapConcurrent(requestsAtOnce, folders, async (folder) => ({
      folder,
      entries: await drive.list(`${top}${folder}`, signal),
    }))
    const entries = listed.flatMap(({ folder, entries }) =>
      entries.map((entry) => ({ ...entry, path: `${folder}/${entry.name}` })),
    )
    folders = entries.filter(({ isDirectory }) => isDirectory).map(({ path }) => path)
    others.push(
      ...entries
        .filter(({ isDirectory, path }) => !isDirectory && !expected.has(path.slice(1)))
        .map(({ path }) => path),
    )
  }
  await mapConcurrent(requestsAtOnce, others, (path) => drive.remove(`${top}${path}`, { recursive: false, signal }))
  return others.map((path) => path.slice(1))
}

async function readTable(drive: Drive, directory: string, stored: Artifact[], signal: AbortSignal) {
  const wanted = stored.find(({ path }) => path === artifact.treeTable)
  const bytes =
    wanted &&
    (await drive.read(`${directory}/${wanted.path}`, { maxBytes: Math.min(wanted.bytes, tableBytes), signal }))
  if (!bytes || sha256(bytes) !== wanted.sha256)
    throw verificationError(artifact.treeTable, bytes ? { bytes: bytes.length, sha256: sha256(bytes) } : null)
  try {
    return decodeJson(Buffer.from(bytes).toString('utf8'), table)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw new HandoffError(
      'sandbox',
      `The sandbox stored ${artifact.treeTable} in a shape that is not ours: ${error.message}.`,
      {
        next: 'Try again; if it stays so, report it with the run id.',
      },
    )
  }
}

function* batchesOf<T>(items: T[], most: number): Generator<T[]> {
  for (let from = 0; from < items.length; from += most) yield items.slice(from, from + most)
}
