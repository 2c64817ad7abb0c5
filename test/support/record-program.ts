// What the real program did once in a quick world, taken down to be repeated: everything it stored and printed, and what one would find in that
// repository.
import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { deflateRawSync } from 'node:zlib'
import type { GitRemote } from '../../src/emulators/git-http-server.js'
import type { ObjectKind } from '../../src/handoff/domain/git-proof.js'
import type { Sandboxes } from '../../src/handoff/domain/ports.js'
import type { ProgramRecord } from '../../src/handoff/domain/sandbox-protocol-decoder.js'
import { createRecordReader } from '../../src/handoff/domain/sandbox-protocol-decoder.js'
import { sha256 } from '../../src/handoff/store/run-store.js'
import { summarise } from '../../src/handoff/workflows/summarise/summarise-commit.js'
import type { TestRepository } from './repository.js'
import type { Scenario, TestProcess } from './scenario.js'
import { connectThrough, type Wiring } from './scripted-context.js'
import type { RecordedRun } from './scripted-program.js'

const never = new AbortController().signal
export const realProgram = (name: string) =>
  readFile(join(import.meta.dirname, `../../dist/sandbox-${name}.js`), 'utf8')

/** One summary by the real program, everything it stored and printed; and what one would find in that repository. */
export async function recordSummary(
  wiring: Wiring,
  remote: GitRemote,
  repository: TestRepository,
  cloneBytes: number,
  place: Scenario,
): Promise<RecordedRun> {
  const { clouds } = wiring
  remote.serve(place.name, repository.directory)
  const url = { sandboxes: clouds.sandboxes.url, drive: clouds.drive.url, inside: clouds.drive.url }
  const context = connectThrough(
    wiring,
    { ...url, model: clouds.model.url, git: remote.url },
    realProgram,
    'production',
    {
      offset: 0,
    },
  )
  const heard: ProgramRecord[] = []
  context.ports.sandboxes = recordOutput(context.ports.sandboxes, (record) => heard.push(record))
  const at = { context, proxy: { url: { git: remote.url } } } as TestProcess
  const { directory } = await summarise(place.summarise(at, 'taken-down'), context, never)
  const stored = heard.filter((record) => record.type === 'stored')
  const files = stored.map(({ path }) => {
    const bytes = clouds.drive.readFile(`${directory}/${path}`)!
    return {
      path,
      bytes: path.startsWith('project/') ? Buffer.concat([bytes, padding(cloneBytes - bytes.length)]) : bytes,
    }
  })
  clouds.drive.remove(place.layout.repository)
  return { files, summarise: heard.map((record) => restated(record, files)), find: searchRecords(heard, repository) }
}

/** The first lines of each file that was read, and the objects that prove them. */
export function searchRecords(
  records: ProgramRecord[],
  { directory, head }: Pick<TestRepository, 'directory' | 'head'>,
): ProgramRecord[] {
  const texts = records.filter((record) => record.type === 'text').slice(0, 5)
  const folders = new Set(texts.flatMap(({ path }) => foldersOf(path)))
  const objects = [
    gitObject(directory, 'commit', head),
    ...[...folders].map((folder) =>
      gitObject(directory, 'tree', folder === '' ? `${head}^{tree}` : `${head}:${folder}`),
    ),
    ...texts.map(({ blob }) => gitObject(directory, 'blob', blob)),
  ]
  const excerpts = texts.map(({ path, blob, text }): ProgramRecord => {
    return {
      v: 1,
      type: 'excerpt',
      path,
      blob,
      from: 1,
      lines: text.trimEnd().split('\n').slice(0, 20),
      source: 'code',
      score: 1,
    }
  })
  return [
    { v: 1, type: 'step', step: 'mount', milliseconds: 1 },
    ...excerpts,
    ...objects,
    {
      v: 1,
      type: 'searched',
      terms: ['greet'],
      files: texts.length,
      candidates: texts.length,
      missing: [],
      found: 'well',
      unsearched: [],
    },
    { v: 1, type: 'done' },
  ]
}

function gitObject(directory: string, kind: ObjectKind, name: string): ProgramRecord {
  const bytes = execFileSync('git', ['--git-dir', directory, 'cat-file', kind, name])
  return { v: 1, type: 'object', kind, data: deflateRawSync(bytes).toString('base64') }
}

/** `a/b/c.ts` → the top, `a`, `a/b`. */
function foldersOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1)
  return ['', ...parts.map((_, index) => parts.slice(0, index + 1).join('/'))]
}

const padding = (bytes: number) => Buffer.alloc(Math.max(0, bytes))

/** What was stored has another hash where it was made larger. */
function restated(record: ProgramRecord, files: { path: string; bytes: Uint8Array }[]): ProgramRecord {
  if (record.type !== 'stored') return record
  const { bytes } = files.find(({ path }) => path === record.path)!
  return { ...record, bytes: bytes.length, sha256: sha256(bytes) }
}

/** Listens to what is printed inside. */
export function recordOutput(sandboxes: Sandboxes, take: (record: ProgramRecord) => void): Sandboxes {
  return {
    ...sandboxes,
    async open(request, signal) {
      const sandbox = await sandboxes.open(request, signal)
      const reader = createRecordReader(take)
      return {
        ...sandbox,
        run: (command, options) =>
          sandbox.run(command, {
            ...options,
            onOutput(text) {
              reader.push(text)
              options.onOutput(text)
            },
          }),
      }
    },
  }
}
