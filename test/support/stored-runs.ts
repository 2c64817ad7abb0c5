// A drive with runs of any age on it, sealed and unsealed, without machines: what stands on the drive is what the workflows would have left.

import { type LocalDrive, startDrive } from '../../src/emulators/drive9/server/main.js'
import { systemClock } from '../../src/handoff/clients/system-clock.js'
import { encodeRef, type Handoff } from '../../src/handoff/domain/handoff-record.js'
import {
  artifact,
  layout,
  makeRunId,
  parseRepository,
  type Repository,
  type RunId,
} from '../../src/handoff/domain/run.js'
import { parseSettings } from '../../src/handoff/domain/settings.js'
import { type AppContext, createContext } from '../../src/handoff/index.js'
import { seal, writePointer } from '../../src/handoff/store/publish-run.js'
import { sha256 } from '../../src/handoff/store/run-store.js'
import { handoffRecord } from './records.js'

export const day = 86_400_000
export const never = new AbortController().signal

export interface StoredRuns extends AsyncDisposable {
  drive: LocalDrive
  context: AppContext
  repository: Repository
  place: ReturnType<typeof layout>
  /** The clock of the drive and of the product. */
  time: { now: number }
  /** Does something so many days ago. */
  daysAgo<T>(days: number, work: () => Promise<T>): Promise<T>
  /** A sealed run, spoken for. */
  sealed(sha: string, options?: SealedRunOptions): Promise<RunId>
  /** What an attempt that died leaves: its marker, and whatever of these files. */
  attempt(sha: string, files?: string[], name?: string): RunId
  ref(ref: string, commit: string): void
  files(path?: string): string[]
}

export interface SealedRunOptions {
  days?: number
  ref?: string
  name?: string
  basedOn?: string
  repositoryId?: string
  /** Leave the pointer out, as a crash would. */
  pointed?: boolean
  files?: Record<string, string>
}

export const sha = (digit: string | number) => String(digit).padStart(4, '0').repeat(10)

export async function makeStoredRuns(of = 'octo/tools'): Promise<StoredRuns> {
  const time = { now: Date.parse('2026-11-18T10:00:00Z') }
  const drive = await startDrive({ now: () => time.now })
  const settings = {
    DRIVE9_API_KEY: drive.ownerKey,
    DRIVE9_SERVER: drive.url,
    DRIVE9_ROOT: '/handoff',
    E2B_API_KEY: 'x',
    LLM_API_KEY: 'x',
    LLM_MODEL: 'x',
  }
  const context = createContext(parseSettings(settings), {
    program: async () => '',
    emit: () => undefined,
    clock: { ...systemClock, now: () => time.now },
  })
  const repository = parseRepository(of, 'git.example.org')
  const place = layout(context.root, repository)
  const daysAgo = async <T>(days: number, work: () => Promise<T>) => {
    time.now -= days * day
    try {
      return await work()
    } finally {
      time.now += days * day
    }
  }
  return {
    drive,
    context,
    repository,
    place,
    time,
    daysAgo,
    sealed: (commit, options = {}) =>
      daysAgo(options.days ?? 0, async () => {
        const handoff = handoffOf(repository, commit, options, new Date(time.now))
        const directory = place.run(handoff.run)
        for (const [path, text] of Object.entries(contents(options))) drive.write(`${directory}/${path}`, text)
        const pointer = await seal(context.ports.drive, place, handoff, [], never)
        if (options.pointed === false) return handoff.run
        await writePointer(context.ports, place, pointer, 0, never)
        await context.ports.drive.remove(place.sealNote(handoff.run), { recursive: false, signal: never })
        return handoff.run
      }),
    attempt(commit, files = [], name = 'died') {
      const run = makeRunId(commit, name)
      for (const path of ['.handoff-marker', ...files]) drive.write(`${place.run(run)}/${path}`, 'some bytes')
      return run
    },
    ref: (name, commit) => drive.write(place.ref(name), encodeRef({ version: 1, commit })),
    files: (path = '/') =>
      drive
        .tree(path)
        .filter((entry) => !entry.isDirectory)
        .map((entry) => entry.path),
    [Symbol.asyncDispose]: () => drive.close(),
  }
}

const contents = ({ files }: SealedRunOptions): Record<string, string> => ({
  'project/tools.git.tar': 'a tar',
  [artifact.files]: '{}',
  [artifact.summary]: '# Summary\n',
  ...files,
})

function handoffOf(repository: Repository, commit: string, options: SealedRunOptions, at: Date): Handoff {
  const { name = 'first', ref, basedOn, repositoryId } = options
  return handoffRecord({
    run: makeRunId(commit, name),
    host: repository.host,
    repository: `${repository.owner}/${repository.name}`,
    ...(ref === undefined ? {} : { ref }),
    ...(basedOn === undefined ? {} : { basedOn }),
    ...(repositoryId === undefined ? {} : { repositoryId }),
    artifacts: Object.entries(contents(options)).map(([path, text]) => ({
      path,
      bytes: Buffer.byteLength(text),
      sha256: sha256(text),
    })),
    sealedAt: at.toISOString(),
  })
}
