// Prune, seal, recovery and replacement as one protocol: every order in which two makers of a run, one prune and one reader can reach the drive is
// explored, with requests that are late or doubled. The processes are production code over the real drive9 client.
//
// LONG=1 explores more of them together. The bound: two makers, prune and an asker, who only reads, with three late or doubled requests anywhere have 68
// million states (5 GB, 480 seconds of processor time). A reader may write a missing pointer; two makers, prune and such a reader have 24 million states
// with one such request (80 seconds); with two they were not explored.
import { expect, test } from 'vitest'
import { ignoreFailure } from '../../src/handoff/domain/errors.js'
import { decodePointer, encodeHandoff, encodePointer, type Handoff } from '../../src/handoff/domain/handoff-record.js'
import { artifact, layout, makeRunId, parseRepository, type RunId } from '../../src/handoff/domain/run.js'
import { encodeTombstone, readTombstone } from '../../src/handoff/domain/tombstone.js'
import { removeSealed } from '../../src/handoff/store/delete-run.js'
import { lookOnce } from '../../src/handoff/store/find-sealed.js'
import { seal, writePointer } from '../../src/handoff/store/publish-run.js'
import { readSealed, sha256 } from '../../src/handoff/store/run-store.js'
import { explorerTime, type ProductProcess } from '../support/process-automaton.js'
import { handoffRecord } from '../support/records.js'
import { figuresText } from '../support/schedules.js'
import type { DriveFiles } from '../support/small-drive.js'
import { type Exploration, explore, type Observer, type RunAlone } from '../support/step-explorer.js'

const sha = 'a'.repeat(40)
const repository = parseRepository('octo/tools', 'git.example.org')
const place = layout('/handoff', repository)
const pointerPath = place.pointer(sha)
const text = (bytes: Uint8Array) => Buffer.from(bytes).toString()
const nameOf = (run: string) => run.slice(sha.length + 1)
const tarOf = (name: string) => `${place.run(makeRunId(sha, name))}/${artifact.clone(repository)}`

const handoffOf = (name: string, sealedAt: string) =>
  handoffRecord({ run: makeRunId(sha, name), host: repository.host, sealedAt })

/**
 * As `summarise` does it, from the moment at which the sandbox is gone. `findSealed` looks again when the pointer has changed: then the process goes on as
 * itself.
 */
function maker(name: 'one' | 'two'): ProductProcess {
  const publisher = publishes(handoffOf(name, `2026-11-19T10:00:0${name === 'one' ? 1 : 2}Z`))
  return {
    name,
    async run(ports, signal) {
      const found = await lookOnce(ports, place, sha, signal)
      if (found === 'changed') return this
      return found ? `reuses ${nameOf(found.handoff.run)}` : publisher
    },
  }
}

/** `summarise` with `force`. */
function replacer(name: string): ProductProcess {
  const handoff = handoffOf(name, '2026-11-19T10:00:03Z')
  return {
    name,
    async run(ports, signal) {
      const revision = (await ports.drive.stat(pointerPath, signal))?.revision ?? 0
      const replaced = await readSealed(ports.drive, place, sha, signal).catch(() => undefined)
      return publishes(handoff, replaced ? revision : 0, replaced?.handoff.run)
    },
  }
}

/** Once the canonical run is known, nothing else that a maker has seen matters. */
function publishes(handoff: Handoff, seen = 0, replaced?: RunId): ProductProcess {
  const name = nameOf(handoff.run)
  return {
    name: `${name} publishes at ${seen}, ${replaced ?? 'nothing'} replaced`,
    async run(ports, signal) {
      const pointer = await seal(ports.drive, place, handoff, [], signal)
      const canonical = await writePointer(ports, place, pointer, seen, signal)
      if (canonical.run !== handoff.run) return `uses ${nameOf(canonical.run)}`
      if (replaced) await ports.drive.remove(place.sealNote(replaced), { recursive: false, signal })
      return `made ${name}`
    },
  }
}

const pruner: ProductProcess = {
  name: 'prune',
  async run(ports, signal) {
    const chosen = { place, run: makeRunId(sha, 'old'), pointer: { path: pointerPath, bytes: 1, revision: 1 } }
    return (await removeSealed(ports, { ...chosen, since: new Date(explorerTime).toISOString() }, signal)) ?? 'removed'
  },
}

const reader: ProductProcess = {
  name: 'reader',
  async run(ports, signal) {
    const found = await lookOnce(ports, place, sha, signal)
    if (found === 'changed') return this
    return found ? `reads ${nameOf(found.handoff.run)}` : 'reads nothing'
  },
}

const askerWith = (look: typeof lookOnce): ProductProcess => ({
  name: 'asker',
  async run(ports, signal) {
    const found = await look(ports, place, sha, signal, { readOnly: true })
    if (found === 'changed') return this
    return found ? `reads ${nameOf(found.handoff.run)}` : 'reads nothing'
  },
})

/** A maker has said that one of their runs is there. */
const isMade = (results: (string | undefined)[]) =>
  results.some((result) => /^(made|uses (one|two)$)/.test(result ?? ''))

/** Who asks with a token that can only read. From the moment at which a run was made, it finds one. */
const asker = (look = lookOnce): Observer => ({
  process: askerWith(look),
  isOwed: isMade,
  judge(result, isOwed) {
    if (result.startsWith('error')) return `an asker ended with ${result}`
    return isOwed && result === 'reads nothing' ? 'a run was made, and an asker reads nothing' : undefined
  },
})

/** A run of long ago that nothing needs any more, and what two sandboxes have stored. */
function filesBefore(): DriveFiles {
  const old = handoffOf('old', '2026-01-01T00:00:00Z')
  const bytes = encodeHandoff(old)
  const pointer = { version: 1 as const, run: old.run, handoff: sha256(bytes), sealedAt: old.sealedAt }
  const file = (content: string) => ({ text: content, revision: 1 })
  return {
    [pointerPath]: file(text(encodePointer(pointer))),
    [`${place.run(old.run)}/${artifact.handoff}`]: file(text(bytes)),
    ...Object.fromEntries(['old', 'one', 'two'].map((name) => [tarOf(name), file('a tar')])),
  }
}

const isConstant = (path: string) => path.startsWith(place.refs) || path.endsWith(artifact.answers)

/** A run that was made is found complete from then on, by each reader; and a removal that was reported has removed. */
async function judge(
  files: DriveFiles,
  results: (string | undefined)[],
  alone: RunAlone,
  faults: number,
): Promise<string | undefined> {
  const failed = results.find(
    (result) => result?.startsWith('error') && (faults === 0 || /corrupt|conflict/.test(result)),
  )
  if (failed) return `a process ended with ${failed}`
  if (results.includes('removed') && files[tarOf('old')]) return 'a removed run has files'
  if (!isMade(results)) return undefined
  const found = await alone(reader)
  const name = /^reads (old|one|two)$/.exec(found)?.[1]
  if (!name || !files[tarOf(name)]) return `a run was made, and a reader ${found}`
  const hasPointer = files[pointerPath] !== undefined && !readTombstone(Buffer.from(files[pointerPath].text))
  return faults > 0 || hasPointer ? undefined : 'a run was made, and its pointer was deleted'
}

type Plan = Pick<Exploration, 'processes' | 'observer' | 'faults' | 'mayFail'>

async function explored(plan: Plan): Promise<string[]> {
  const start = performance.now()
  const processor = process.cpuUsage()
  const { states, histories, wrong } = await explore({ files: filesBefore(), isConstant, judge, ...plan })
  const milliseconds = performance.now() - start
  const used = process.cpuUsage(processor)
  const names = [...plan.processes, ...(plan.observer ? [plan.observer.process] : [])]
    .map(({ name }) => name)
    .join(', ')
  const what = plan.mayFail ? 'faults at the pointer' : 'faults'
  const processorSeconds = (used.user + used.system) / 1e6
  console.log(`${names}: ${figuresText({ [what]: plan.faults, states, histories, milliseconds, processorSeconds })}`)
  return wrong.map(({ what, steps }) => `${what}\n  ${steps.join('\n  ')}`)
}

const mayFail = (path: string) => path === pointerPath
const long = process.env['LONG'] === '1'
const [one, two, forced] = [maker('one'), maker('two'), replacer('two')]

test.each<[string, Plan]>([
  ['two makers, prune and an asker, one request', { processes: [one, two, pruner], observer: asker(), faults: 1 }],
  ['two makers, prune and a reader', { processes: [one, two, pruner, reader], faults: 0 }],
  ['a maker and prune, three requests late or doubled', { processes: [one, pruner], faults: 3 }],
  ['a maker, prune and a reader, two at the pointer', { processes: [one, pruner, reader], faults: 2, mayFail }],
  ['a replaced run and prune, one at the pointer', { processes: [one, forced, pruner], faults: 1, mayFail }],
])(
  'no run is lost in any order of requests: %s',
  async (_name, plan) => {
    expect(await explored(plan)).toEqual([])
  },
  240_000,
)

test.runIf(long).each<[string, Plan]>([
  ['two makers, prune and an asker, two', { processes: [one, two, pruner], observer: asker(), faults: 2 }],
  ['two makers, prune and an asker, three', { processes: [one, two, pruner], observer: asker(), faults: 3 }],
  ['a maker, prune and a reader, three', { processes: [one, pruner, reader], faults: 3 }],
  ['two makers, prune and a reader, one', { processes: [one, two, pruner, reader], faults: 1 }],
])(
  'in any order of many more requests: %s late or doubled',
  async (_name, plan) => {
    expect(await explored(plan)).toEqual([])
  },
  7_200_000,
)

// ── a protocol that loses runs ──────────────────────────────────────────────────────────────────────────────────────────────────────

/** Prune whose deletion of the tombstone has no condition, in the first try and in each repetition. */
const hastyPruner: ProductProcess = {
  name: 'prune without a condition',
  async run({ drive }, signal) {
    const run = makeRunId(sha, 'old')
    const tombstone = encodeTombstone({ version: 1, removed: run, removedAt: new Date(explorerTime).toISOString() })
    await drive.write(pointerPath, tombstone, { expectedRevision: 1, signal })
    await drive.remove(place.sealNote(run), { recursive: false, signal })
    await drive.remove(pointerPath, { recursive: false, signal })
    await drive.remove(place.run(run), { recursive: true, signal })
    return 'removed'
  },
}

/** A maker that removes its write-ahead record as soon as its pointer is written. */
function forgetfulMaker(point: typeof writePointer): ProductProcess {
  const handoff = handoffOf('one', '2026-11-19T10:00:01Z')
  return {
    name: 'one',
    async run(ports, signal) {
      const found = await readSealed(ports.drive, place, sha, signal)
      if (found) return `reuses ${nameOf(found.handoff.run)}`
      const pointer = await seal(ports.drive, place, handoff, [], signal)
      const canonical = await point(ports, place, pointer, 0, signal)
      await ports.drive.remove(place.sealNote(handoff.run), { recursive: false, signal })
      return `${canonical.run === handoff.run ? 'made' : 'uses'} ${nameOf(canonical.run)}`
    },
  }
}

/** After a few seconds it takes a tombstone for one whose process died. */
const impatientPointer: typeof writePointer = async ({ drive, clock }, at, pointer, seen, signal) => {
  const path = at.pointer(sha)
  for (let expectedRevision = seen, hasWaited = false; ; hasWaited = true) {
    const written = await drive.write(path, encodePointer(pointer), { expectedRevision, signal }).catch(ignoreFailure)
    if (written) return pointer
    const revision = (await drive.stat(path, signal))?.revision ?? 0
    const found = await drive.read(path, { maxBytes: 10_000, signal })
    if (found && !readTombstone(found)) return decodePointer(found)
    if (hasWaited) expectedRevision = revision
    else await clock.sleep(3_000, signal)
  }
}

test.each<[string, typeof writePointer, number]>([
  ['in a slow prune, and a maker that replaces its tombstone', impatientPointer, 0],
  ['that arrives twice, and a maker that waits', writePointer, 1],
])('the explorer finds the run that is lost by a deletion without a condition %s', async (_name, point, faults) => {
  const wrong = await explored({ processes: [forgetfulMaker(point), hastyPruner], faults })
  expect(wrong).toContainEqual(expect.stringMatching(/^a run was made, and a reader reads nothing\n/))
})

/** Takes the run that a record vouches for only where no pointer is; a pointer that was written meanwhile is to it as a removal. */
const hastyLook: typeof lookOnce = async (tools, at, commit, signal, options) => {
  const found = await lookOnce(tools, at, commit, signal, options)
  return found === 'changed' ? undefined : found
}

test('the explorer finds the asker that does not look again after the pointer has changed', async () => {
  const wrong = await explored({ processes: [one, two, pruner], observer: asker(hastyLook), faults: 1 })
  expect(wrong).toContainEqual(expect.stringMatching(/^a run was made, and an asker reads nothing\n/))
})

test('an observer that writes is refused', async () => {
  const writing = { ...asker(), process: maker('two') }
  await expect(explored({ processes: [pruner], observer: writing, faults: 0 })).rejects.toThrow(
    'may not change anything',
  )
})
