// What handoff needs of a drive9 server.
import { createHash, randomBytes } from 'node:crypto'
import { isHandoffError, makeDrive } from '../handoff/index.js'
import { broken, type Check } from './conformance-tools.js'

const bytesOf = (text: string) => new TextEncoder().encode(text)

async function mustConflict(work: Promise<unknown>, what: string): Promise<void> {
  const ended = await work.then(
    () => 'it was accepted',
    (error: unknown) => (isHandoffError(error, 'conflict') ? undefined : `it failed: ${(error as Error).message}`),
  )
  if (ended !== undefined) throw broken(`${what} must be refused with a conflict; ${ended}.`)
}

/** An outage refuses nothing: the same call may be accepted later. */
async function mustBeRefused(work: Promise<unknown>, what: string): Promise<void> {
  const accepted = await work.then(
    () => true,
    (error: unknown) => {
      if (!isHandoffError(error, 'unauthorized') && !isHandoffError(error, 'forbidden')) throw error
      return false
    },
  )
  if (accepted) throw broken(`${what} was accepted.`)
}

/** The clone of 31,000 files of 6 KB has 83 MB. */
const largeCloneBytes = 100_000_000

export const driveChecks: Check[] = [
  {
    name: 'conditional writes',
    meaning: 'Two processes can overwrite each other, so runs and answers can be lost. Do not use this server.',
    async run({ context: { ports }, directory, signal }) {
      const path = `${directory}/conditional`
      const write = (text: string, expectedRevision: number) =>
        ports.drive.write(path, bytesOf(text), { expectedRevision, signal })
      const { revision } = await write('one', 0)
      await mustConflict(write('two', 0), 'A second creation of a file')
      await write('three', revision)
      await mustConflict(write('four', revision), 'A write at an old revision')
      const found = await ports.drive.read(path, { maxBytes: 1_000, signal })
      if (found === null || new TextDecoder().decode(found) !== 'three')
        throw broken('The file does not hold the last accepted write.')
    },
  },
  {
    name: 'large files',
    meaning: 'A commit cannot be stored. Look at the quota and at the object storage of the server.',
    async run({ context: { ports }, directory, signal }) {
      for (const size of [60_000, 9_000_000]) {
        const bytes = randomBytes(size)
        await ports.drive.write(`${directory}/large`, bytes, { signal })
        const found = await ports.drive.digest(`${directory}/large`, signal)
        if (found?.sha256 !== createHash('sha256').update(bytes).digest('hex'))
          throw broken(`A file of ${size.toLocaleString('en')} bytes was not kept as it was sent.`)
      }
    },
  },
  {
    name: 'quotas',
    meaning: 'Larger commits cannot be stored: each is one file. Raise the limits of the account or the server.',
    async run({ context: { ports }, directory, signal }) {
      const { ready, largestFileBytes = Number.POSITIVE_INFINITY } = await ports.drive.status(signal)
      if (!ready) throw broken('The account is not ready.')
      if (largestFileBytes < largeCloneBytes)
        throw broken(`A file may have ${largestFileBytes.toLocaleString('en')} bytes.`)
      // A full account refuses this with its quota.
      await ports.drive.write(`${directory}/quota`, bytesOf('one more file'), { signal })
    },
  },
  {
    name: 'lists, moves, removal',
    meaning: 'What Sandbox A stores cannot be taken out of its reach, and old runs cannot be removed.',
    async run({ context: { ports }, directory, signal }) {
      const names = async (folder: string) =>
        (await ports.drive.list(`${directory}/${folder}`, signal)).map(({ name }) => name).join(' ')
      await ports.drive.write(`${directory}/from/a`, bytesOf('a'), { signal })
      if ((await names('from')) !== 'a') throw broken('A list does not name the file that was written.')
      await ports.drive.move(`${directory}/from`, `${directory}/to`, signal)
      if ((await names('to')) !== 'a' || (await names('from')) !== '') throw broken('A directory was not moved whole.')
      await ports.drive.remove(`${directory}/to`, { recursive: true, signal })
      if ((await names('to')) !== '') throw broken('A directory was not removed whole.')
    },
  },
  {
    name: 'scoped tokens',
    meaning: 'A sandbox can reach other runs. Do not use this server for repositories that you do not trust.',
    async run({ context: { ports }, directory, signal }) {
      await Promise.all(
        ['mine', 'other'].map((folder) =>
          ports.drive.write(`${directory}/${folder}/file`, bytesOf(folder), { signal }),
        ),
      )
      const prefix = `${directory}/mine`
      const token = await ports.drive.issueToken(
        { prefix, operations: ['read', 'list'], lifetimeSeconds: 120, subject: 'handoff-conformance' },
        signal,
      )
      const scoped = makeDrive({ server: ports.drive.server, key: token.secret, hosts: ports.drive.hosts })
      const read = (path: string) => scoped.read(path, { maxBytes: 1_000, signal })
      if ((await read(`${prefix}/file`)) === null) throw broken('A token cannot read its own directory.')
      await mustBeRefused(read(`${directory}/other/file`), 'A read outside the directory of a token')
      await mustBeRefused(
        scoped.write(`${prefix}/new`, bytesOf('x'), { signal }),
        'A write with a token that may only read',
      )
      await ports.drive.revokeToken(token.id, signal)
      await mustBeRefused(read(`${prefix}/file`), 'A read with a revoked token')
    },
  },
  {
    name: 'end of tokens',
    meaning: 'A token of a sandbox whose owner died stays usable.',
    async run({ context: { ports }, directory, signal }) {
      await ports.drive.write(`${directory}/mine/file`, bytesOf('mine'), { signal })
      const token = await ports.drive.issueToken(
        { prefix: `${directory}/mine`, operations: ['read'], lifetimeSeconds: 2, subject: 'handoff-conformance' },
        signal,
      )
      await ports.clock.sleep(4_000, signal)
      const scoped = makeDrive({ server: ports.drive.server, key: token.secret, hosts: ports.drive.hosts })
      await mustBeRefused(
        scoped.read(`${directory}/mine/file`, { maxBytes: 1_000, signal }),
        'A read with a token whose two seconds were over',
      )
    },
  },
]
