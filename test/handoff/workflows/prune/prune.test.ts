// What pruning removes and what it keeps, on a drive emulator that stores files and revisions. Pruning does not disturb concurrent processes.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startGitRemote } from '../../../../src/emulators/git-http-server.js'
import { startGitHub } from '../../../../src/emulators/github/server.js'
import { makeGitHost } from '../../../../src/handoff/clients/git/ls-remote.js'
import { makeGitHub } from '../../../../src/handoff/clients/github/client.js'
import { fullName, layout, parseRepository } from '../../../../src/handoff/domain/run.js'
import {
  HandoffError,
  isHandoffError,
  type PrunePlan,
  type PruneRequest,
  planPrune,
  prune,
} from '../../../../src/handoff/index.js'
import { removePointer } from '../../../../src/handoff/store/delete-run.js'
import { findSealed } from '../../../../src/handoff/store/find-sealed.js'
import { seal, writePointer } from '../../../../src/handoff/store/publish-run.js'
import { prepareRef } from '../../../../src/handoff/store/ref-store.js'
import { readSealed } from '../../../../src/handoff/store/run-store.js'
import { makeRepository } from '../../../support/repository.js'
import { day, makeStoredRuns, never, type StoredRuns, sha } from '../../../support/stored-runs.js'

let there: StoredRuns

beforeEach(async () => {
  there = await makeStoredRuns()
})
afterEach(async () => {
  expect(there.drive.unexpected).toEqual([])
  await there[Symbol.asyncDispose]()
})

const plan = (more: Partial<PruneRequest> = {}) =>
  planPrune(
    { repository: there.repository, keepDays: 90, keepRuns: 50, unfinishedHours: 24, ...more },
    there.context,
    never,
  )
const going = (of: PrunePlan) =>
  of.repositories.flatMap(({ items }) => items.map(({ kind, name }) => `${kind} ${name}`))
const staying = (of: PrunePlan) =>
  Object.fromEntries(of.repositories.flatMap(({ kept }) => kept.map((one) => [one.run, one.why])))
const act = async (of: PrunePlan) => (await prune(of, there.context, never)).map(({ outcome, why }) => why ?? outcome)
const look = (commit: string) => readSealed(there.context.ports.drive, there.place, commit, never)

describe('what goes', () => {
  test('runs that are too old, or that have too many newer ones', async () => {
    const old = await there.sealed(sha(1), { days: 91 })
    const young = await there.sealed(sha(2), { days: 89 })
    const newer = await there.sealed(sha(3), { days: 3 })
    expect(going(await plan())).toEqual([`run ${old}`])
    const both = await plan({ keepRuns: 1 })
    expect(going(both)).toEqual([`run ${young}`, `run ${old}`])
    expect(both.repositories[0]!.items.map(({ why }) => why)).toEqual(['1 newer runs', 'sealed 91 days ago'])
    expect(await act(both)).toEqual(['removed', 'removed'])
    expect(there.files().filter((path) => !path.includes(sha(3)))).toEqual([])
    expect((await look(sha(3)))?.handoff.run).toBe(newer)
  })

  test('the plan says how many files and bytes, exactly, and does nothing by itself', async () => {
    await there.sealed(sha(1), { days: 100, files: { 'analysis/qa/1.json': 'x'.repeat(777) } })
    const before = there.drive.readAll()
    const [item] = (await plan()).repositories[0]!.items
    const sum = before.reduce((bytes, file) => bytes + file.bytes.length, 0)
    expect(item).toMatchObject({ files: before.length, bytes: sum })
    expect(there.drive.readAll()).toEqual(before)
  })

  test('attempts that died, notes and checkpoints; not those of today', async () => {
    await there.daysAgo(2, async () => {
      there.attempt(sha(1), ['project/tools.git.tar', 'analysis/files.json'])
      there.drive.write(there.place.checkpoint(sha(1)), '{}')
      there.drive.write(there.place.sealNote(there.attempt(sha(4))), '{}')
    })
    const today = there.attempt(sha(2), ['project/tools.git.tar'])
    there.drive.write(there.place.checkpoint(sha(2)), '{}')
    const first = await plan()
    expect(going(first)).toEqual([
      `attempt ${sha(1)}-died`,
      `attempt ${sha(4)}-died`,
      `checkpoint commits/${sha(1)}.parts.json`,
    ])
    expect(await act(first)).toEqual(['removed', 'removed', 'removed'])
    // The tombstones prevent a later seal of these attempts. Pruning removes them when no writer can be that late.
    const left = [sha(1), sha(4)].map((commit) => `${there.place.runs}/${commit}-died/analysis/handoff.json`)
    const ofToday = there.files(there.place.run(today))
    expect(there.files(there.place.runs)).toEqual([left[0], ...ofToday, left[1]])
    expect(going(await plan())).toEqual([])
    there.time.now += 2 * day
    expect(await act(await plan())).toEqual(['removed', 'removed', 'removed', 'removed'])
    expect(there.files(there.place.runs)).toEqual([`${there.place.run(today)}/analysis/handoff.json`])
  })

  test('what failed attempts leave in a repository that was never summarised goes after an hour', async () => {
    const run = there.attempt(sha(1), ['project/tools.git.tar', 'analysis/files.json'])
    // A project that is called like a folder of ours, in a group on a host with subgroups.
    const named = layout('/handoff', parseRepository('group/sub/runs', 'git.example.org'))
    there.drive.write(`${named.runs}/${sha(2)}-died/.handoff-marker`, 'x')
    const all = () => planPrune({ keepDays: 90, keepRuns: 50, unfinishedHours: 1 }, there.context, never)
    there.time.now += 59 * 60_000
    expect(going(await all())).toEqual([])
    there.time.now += 2 * 60_000
    const planned = await all()
    expect(planned.notices).toEqual([])
    expect(planned.repositories.map(({ repository }) => fullName(repository))).toEqual(['group/sub/runs', 'octo/tools'])
    expect(going(planned)).toEqual([`attempt ${sha(2)}-died`, `attempt ${run}`])
    expect(await act(planned)).toEqual(['removed', 'removed'])
    // The mark keeps the attempt from being sealed, for a day.
    expect(there.files(there.place.runs)).toEqual([`${there.place.run(run)}/analysis/handoff.json`])
    there.time.now += 2 * 3_600_000
    expect(going(await all())).toEqual([])
    there.time.now += day
    expect(await act(await all())).toEqual(['removed', 'removed'])
    expect(there.files()).toEqual([])
  })

  test.each([
    ['files', (used: { files: number }) => ({ files: used.files })],
    ['bytes', (used: { bytes: number }) => ({ bytes: used.bytes })],
  ])('what failed attempts leave goes from an account with no more room for %s', async (_, quotaOf) => {
    const files = ['project/tools.git.tar', 'analysis/files.json', 'analysis/outline.json']
    for (const digit of [1, 2, 3]) {
      const run = there.attempt(sha(digit), files)
      there.drive.write(`${there.place.run(run)}/${files[0]}`, 'x'.repeat(1_000))
    }
    const used = there.drive.readAll()
    there.drive.setQuota(quotaOf({ files: used.length, bytes: used.reduce((sum, { bytes }) => sum + bytes.length, 0) }))
    const write = (name: string) =>
      there.context.ports.drive.write(there.place.checkpoint(name), new Uint8Array(8), { signal: never })
    await expect(write(sha(9))).rejects.toMatchObject({ code: 'drive-quota' })
    there.time.now += 2 * 3_600_000
    expect(await act(await plan({ unfinishedHours: 1 }))).toEqual(['removed', 'removed', 'removed'])
    await write(sha(9))
  })

  test.each(['analysis/code-summary.md', 'analysis/outline.json', 'project', '.handoff-marker'])(
    'a full account in which %s cannot be removed says so, and the next prune goes on',
    async (path) => {
      const run = there.attempt(sha(1), ['project/tools.git.tar', 'analysis/code-summary.md', 'analysis/outline.json'])
      there.drive.setQuota({ files: there.files().length })
      there.time.now += 2 * 3_600_000
      const refused = { kind: 'answer', status: 500, body: '{"error":"storage backend unavailable"}' } as const
      const place = `/v1/fs${there.place.run(run)}/${path}`
      const takeBack = there.drive.rule({
        method: 'DELETE',
        match: (asked) => asked.path.startsWith(place),
        fault: refused,
      })
      expect(await act(await plan({ unfinishedHours: 1 }))).toEqual([
        expect.stringMatching(/storage backend unavailable/),
      ])
      takeBack()
      expect(await act(await plan({ unfinishedHours: 1 }))).toEqual(['removed'])
      expect(await look(sha(1))).toBeUndefined()
    },
  )

  test('an attempt that is sealed while a full account is emptied leaves no run that cannot be read', async () => {
    const run = there.attempt(sha(1), ['project/tools.git.tar'])
    there.time.now += day
    const planned = await plan({ unfinishedHours: 1 })
    const { drive } = there.context.ports
    const remove: typeof drive.remove = async (path, options) => {
      const removed = await drive.remove(path, options)
      // Its clone has gone just now.
      if (path.endsWith('/project')) {
        there.drive.setQuota({})
        await there.sealed(sha(1), { name: 'died' })
      }
      return removed
    }
    there.drive.setQuota({ files: there.files().length })
    const context = { ...there.context, ports: { ...there.context.ports, drive: { ...drive, remove } } }
    expect((await prune(planned, context, never)).map(({ outcome }) => outcome)).toEqual(['removed'])
    expect(await look(sha(1))).toBeUndefined()
    expect(there.files(there.place.run(run))).toEqual([])
  })

  test('an attempt is not taken before a workflow could be over, whatever is asked for', async () => {
    there.attempt(sha(1))
    there.time.now += 20 * 60_000
    expect(going(await plan({ unfinishedHours: 0 }))).toEqual([])
    there.time.now += 20 * 60_000
    expect(going(await plan({ unfinishedHours: 0 }))).toEqual([`attempt ${sha(1)}-died`])
  })

  test('a run that another one replaced', async () => {
    const replaced = await there.sealed(sha(1), { days: 3, pointed: false, name: 'loser' })
    const speaks = await there.sealed(sha(1), { days: 3 })
    expect(await act(await plan())).toEqual(['removed'])
    expect(there.files(there.place.runs).some((path) => path.includes(replaced))).toBe(false)
    expect(there.files(there.place.commits)).toEqual([there.place.pointer(sha(1))])
    expect((await look(sha(1)))?.handoff.run).toBe(speaks)
  })

  test('a run that another one came before stays for a day, in which late requests may write its pointer', async () => {
    const gaveWay = await there.sealed(sha(1), { name: 'second', pointed: false })
    await there.sealed(sha(1))
    there.time.now += (23 * day) / 24
    expect(going(await plan({ unfinishedHours: 1 }))).toEqual([])
    there.time.now += (2 * day) / 24
    expect(going(await plan({ unfinishedHours: 1 }))).toEqual([`attempt ${gaveWay}`])
  })

  test('a run that a crash hid comes to light as long as it would be kept', async () => {
    const hidden = await there.sealed(sha(1), { days: 3, pointed: false })
    expect(going(await plan())).toEqual([])
    const found = await findSealed(there.context.ports, there.place, sha(1), never)
    expect(found?.handoff.run).toBe(hidden)
    await there.sealed(sha(2), { days: 100, pointed: false })
    expect(going(await plan())).toContain(`attempt ${sha(2)}-first`)
  })

  test('a pointer whose run is gone, and a removal that was not ended', async () => {
    const lost = await there.sealed(sha(1), { days: 5 })
    there.drive.remove(there.place.run(lost))
    await expect(look(sha(1))).rejects.toMatchObject({ code: 'corrupt' })
    expect(await act(await plan())).toEqual(['removed'])
    expect(await look(sha(1))).toBeUndefined()
    expect(there.files()).toEqual([])
  })

  test('what the service left: old budgets, and what earlier versions kept', async () => {
    const files = ['keys/a.json', 'deliveries/b.json', 'budgets/c.json', 'accepted/d.json', 'turns.json']
    const write = async (mark: string) => {
      for (const file of files) there.drive.write(`/handoff/_service/${file.replace('.', `${mark}.`)}`, '{}')
    }
    await there.daysAgo(30, () => write('-old'))
    await write('-new')
    const all = await planPrune({ keepDays: 90, keepRuns: 50, unfinishedHours: 24 }, there.context, never)
    expect(all.service.map(({ name }) => name)).toEqual([
      'budgets/c-old.json',
      'keys/a-old.json',
      'deliveries/b-old.json',
      'accepted/d-old.json',
    ])
    expect(await act(all)).toEqual(Array.from({ length: 4 }, () => 'removed'))
    expect(there.files('/handoff/_service')).toHaveLength(files.length + 1)
    expect((await plan()).service).toEqual([])
  })

  test('every repository below the root, and folders of which nothing is left', async () => {
    await there.sealed(sha(1), { days: 100 })
    const other = layout('/handoff', parseRepository('group/sub/other', 'git.example.org:8443'))
    there.drive.write(`${other.runs}/${sha(9)}-x/.handoff-marker`, 'x')
    there.drive.write(other.checkpoint(sha(9)), '{}')
    there.drive.write('/handoff/not a host/file', 'x')
    there.time.now += 2 * day
    const all = await planPrune({ keepDays: 90, keepRuns: 50, unfinishedHours: 24 }, there.context, never)
    expect(all.repositories.map(({ repository }) => `${repository.host}/${repository.owner}`)).toEqual([
      'git.example.org/octo',
      'git.example.org:8443/group/sub',
    ])
    await act(all)
    expect(there.drive.tree('/handoff/git.example.org').map(({ path }) => path)).not.toContain(there.place.repository)
    expect(there.files('/handoff/not a host')).toHaveLength(1)
  })
})

describe('what stays, whatever the limits say', () => {
  test('what a ref points to, the newest of each branch, and what was asked about just now', async () => {
    const pointed = await there.sealed(sha(1), { days: 400 })
    const inBranch = await there.sealed(sha(2), { days: 300, ref: 'refs/heads/old/branch' })
    const olderInBranch = await there.sealed(sha(3), { days: 301, ref: 'refs/heads/old/branch' })
    const ofPull = await there.sealed(sha(4), { days: 200, ref: 'refs/pull/7' })
    const asked = await there.sealed(sha(5), { days: 200 })
    const none = await there.sealed(sha(6), { days: 200, ref: 'refs/pull/8' })
    there.ref('refs/heads/main', sha(1))
    there.ref('refs/pull/7', sha(4))
    there.drive.write(`${there.place.run(asked)}/analysis/qa/${'0'.repeat(32)}.json`, '{}')
    const made = await plan({ keepRuns: 0 })
    expect(staying(made)).toEqual({
      [pointed]: 'refs/heads/main points to it',
      [inBranch]: 'the newest of refs/heads/old/branch',
      [ofPull]: 'refs/pull/7 points to it',
      [asked]: 'a question about it is recent',
    })
    expect(going(made).sort()).toEqual([`run ${none}`, `run ${olderInBranch}`].sort())
  })

  test('a run that was based on one that goes is whole without it', async () => {
    const base = await there.sealed(sha(1), { days: 100 })
    const later = await there.sealed(sha(2), { days: 1, basedOn: base })
    expect(await act(await plan())).toEqual(['removed'])
    const { handoff } = (await look(sha(2)))!
    expect(handoff.run).toBe(later)
    for (const { path } of handoff.artifacts)
      expect(there.drive.readFile(`${there.place.run(later)}/${path}`)).toBeDefined()
  })

  test('what cannot be read or is newer than we are, and it is said', async () => {
    await there.sealed(sha(1), { days: 100 })
    there.drive.write(there.place.pointer(sha(1)), JSON.stringify({ version: 2 }))
    there.drive.write(there.place.ref('refs/heads/odd'), 'no json')
    there.drive.write(`${there.place.commits}/notes.txt`, 'mine')
    there.time.now += 200 * day
    const before = there.files()
    const made = await plan()
    expect(going(made)).toEqual([])
    expect(made.notices).toEqual([
      expect.stringContaining('notes.txt is not a name of ours'),
      expect.stringContaining('odd.json cannot be read'),
      expect.stringContaining('format version 2'),
    ])
    await act(made)
    expect(there.files()).toEqual(before)
  })
})

describe('refs', () => {
  test('of branches that the git host has no more go, and their runs with them when their time has come', async () => {
    await using repository = await makeRepository({ 'a.ts': 'a' }, { refs: { 'refs/heads/kept%2F': 0 } })
    const remote = await startGitRemote({ repositories: { 'octo/tools': repository.directory } })
    there.context.ports.git = makeGitHost()
    const main = await there.sealed(sha(1), { days: 100, ref: 'refs/heads/main' })
    await there.sealed(sha(2), { days: 100, ref: 'refs/heads/gone' })
    await there.sealed(sha(3), { days: 100, ref: 'refs/heads/kept%2F' })
    for (const [name, commit] of [
      ['main', sha(1)],
      ['gone', sha(2)],
      ['kept%2F', sha(3)],
    ] as const)
      there.ref(`refs/heads/${name}`, commit)
    const made = await plan({ cloneUrl: () => remote.cloneUrl('octo/tools') })
    expect(going(made)).toEqual(['ref refs/heads/gone', `run ${sha(2)}-first`])
    expect(await act(made)).toEqual(['removed', 'removed'])
    expect((await look(sha(1)))?.handoff.run).toBe(main)
    await remote.close()
  })

  test('stay where the git host cannot be asked, or shows nothing at all', async () => {
    await using empty = await makeRepository([])
    const remote = await startGitRemote({ repositories: { 'octo/tools': empty.directory } })
    there.context.ports.git = makeGitHost()
    await there.sealed(sha(1), { days: 100 })
    there.ref('refs/heads/main', sha(1))
    expect(going(await plan())).toEqual([])
    for (const name of ['octo/tools', 'octo/none']) {
      const made = await plan({ cloneUrl: () => remote.cloneUrl(name) })
      expect(going(made)).toEqual([])
      expect(made.notices).toHaveLength(1)
    }
    await remote.close()
  })

  test('of closed pull requests go; what open ones need stays: what was summarised of them and their head', async () => {
    await using local = await startGitHub()
    const repository = local.addRepository({ name: 'octo/tools' })
    const open = local.addPull(repository, { head: { ref: 'x', sha: sha(2) } })
    const closed = local.addPull(repository, { head: { ref: 'y', sha: sha(4) } })
    closed.state = 'closed'
    const token = local.issueToken({ permissions: { pull_requests: 'read' } })
    const github = makeGitHub({ apiUrl: local.apiUrl, serverUrl: local.url, credentials: { token }, userAgent: 'test' })
    for (const digit of [1, 2, 3, 4]) await there.sealed(sha(digit), { days: 100 })
    there.ref(`refs/pull/${open.number}`, sha(1))
    there.ref(`refs/pull/${closed.number}`, sha(3))
    there.ref('refs/pull/999', sha(4))
    const made = await plan({ github: () => github })
    expect(staying(made)).toEqual({
      [`${sha(1)}-first`]: `pull request ${open.number} is open`,
      [`${sha(2)}-first`]: `pull request ${open.number} is open`,
      [`${sha(4)}-first`]: 'refs/pull/999 points to it',
    })
    expect(going(made)).toEqual([`ref refs/pull/${closed.number}`, `run ${sha(3)}-first`])
    expect(made.notices).toEqual([expect.stringContaining('refs/pull/999')])
    expect(local.unexpected).toEqual([])
  })

  test('of pull requests all stay without a token, unless unused refs count as closed', async () => {
    await there.daysAgo(100, async () => there.ref('refs/pull/1', sha(1)))
    there.ref('refs/pull/2', sha(1))
    expect(going(await plan())).toEqual([])
    expect(going(await plan({ closedPulls: true }))).toEqual(['ref refs/pull/1'])
  })
})

describe('beside others', () => {
  test('a run that a ref has come to point to in between stays, and so does one that is asked about', async () => {
    const runs = [await there.sealed(sha(1), { days: 100 }), await there.sealed(sha(2), { days: 100 })]
    const made = await plan()
    there.ref('refs/heads/revived', sha(1))
    there.time.now += 5_000
    there.drive.write(`${there.place.run(runs[1]!)}/analysis/qa/${'0'.repeat(32)}.json`, '{}')
    expect((await act(made)).sort()).toEqual(['a question about it is recent', 'refs/heads/revived points to it now'])
    for (const commit of [sha(1), sha(2)]) expect(await look(commit)).toBeDefined()
  })

  test('a ref that is written while its file is being removed is there afterwards', async () => {
    const ref = 'refs/heads/back'
    const path = there.place.ref(ref)
    there.ref(ref, sha(1))
    there.drive.rule({ method: 'DELETE', path: /heads\/back/, times: 1, fault: { kind: 'delay', milliseconds: 300 } })
    const removing = removePointer(there.context.ports, { path, bytes: 1, revision: 1 }, never)
    const isDeleting = () => there.drive.requests.some(({ method }) => method === 'DELETE')
    await expect.poll(isDeleting).toBe(true)
    const git = { heads: async () => new Map([[ref, sha(2)]]) }
    const commit = { repository: there.repository, sha: sha(2), ref, cloneUrl: 'https://git.example.org/octo/tools' }
    const move = prepareRef({ ...there.context.ports, git }, there.place, commit, never)
    expect(await move.finish(never)).toBe(true)
    await removing
    expect(JSON.parse(there.drive.readFile(path)?.toString() ?? '{}')).toMatchObject({ commit: sha(2) })
  })

  test('a commit that was summarised anew in between keeps its new run', async () => {
    await there.sealed(sha(1), { days: 100 })
    const made = await plan()
    const { drive } = there.context.ports
    const old = (await look(sha(1)))!
    const revision = (await drive.stat(there.place.pointer(sha(1)), never))!.revision
    const handoff = { ...old.handoff, run: `${sha(1)}-anew` as typeof old.handoff.run }
    await writePointer(
      there.context.ports,
      there.place,
      await seal(drive, there.place, handoff, [], never),
      revision,
      never,
    )
    expect(await act(made)).toEqual(['it was written again meanwhile'])
    expect((await look(sha(1)))?.handoff.run).toBe(`${sha(1)}-anew`)
  })

  test('an attempt that is sealed in between stays; one that comes too late is never sealed', async () => {
    const { drive } = there.context.ports
    await there.sealed(sha(8), { days: 1 })
    const template = (await look(sha(8)))!.handoff
    const [won, lost] = [there.attempt(sha(1)), there.attempt(sha(2))]
    there.time.now += 2 * day
    const made = await plan()
    expect(going(made)).toEqual([`attempt ${won}`, `attempt ${lost}`])
    const sealing = (run: typeof won, commit: string) =>
      seal(drive, there.place, { ...template, run, commit }, [], never)
    await writePointer(there.context.ports, there.place, await sealing(won, sha(1)), 0, never)
    expect(await act(made)).toEqual(['it was sealed meanwhile', 'removed'])
    expect((await look(sha(1)))?.handoff.run).toBe(won)
    await expect(sealing(lost, sha(2))).rejects.toMatchObject({ code: 'conflict' })
    expect(await findSealed(there.context.ports, there.place, sha(2), never)).toBeUndefined()
  })

  test('while it runs, readers see a run or none, never a broken one', async () => {
    const commits = Array.from({ length: 12 }, (_, index) => sha(index + 1))
    await Promise.all(commits.map((commit) => there.sealed(commit, { days: 100 })))
    let over = false
    const seen: string[] = []
    const reading = (async () => {
      while (!over) {
        for (const commit of commits) {
          await look(commit).then(
            (run) => seen.push(run ? 'whole' : 'none'),
            (error) => seen.push(isHandoffError(error) ? error.message : 'unexpected'),
          )
        }
      }
    })()
    expect(new Set(await act(await plan()))).toEqual(new Set(['removed']))
    over = true
    await reading
    // Between a reader's two requests the run may go: that is reported in a sentence.
    const reported = /^(whole|none|The handoff of run \S+ is gone\.)$/
    expect(seen.filter((one) => !reported.test(one))).toEqual([])
    expect(seen).toContain('none')
    expect(there.files()).toEqual([])
  })

  test('several at once, and again: each thing goes once, nothing else goes', async () => {
    for (const digit of [1, 2, 3, 4, 5]) await there.sealed(sha(digit), { days: 100 })
    const kept = await there.sealed(sha(6), { days: 1 })
    await there.daysAgo(3, async () => void there.attempt(sha(7)))
    const plans = await Promise.all([plan(), plan(), plan()])
    const outcomes = await Promise.all(plans.map((one) => prune(one, there.context, never)))
    expect(outcomes.flat().filter(({ outcome }) => outcome === 'failed')).toEqual([])
    expect((await look(sha(6)))?.handoff.run).toBe(kept)
    for (const digit of [1, 2, 3, 4, 5]) expect(await look(sha(digit))).toBeUndefined()
    expect(going(await plan())).toEqual([])
    expect(await act(plans[0]!)).not.toContain('failed')
  })

  test('one that died after it had begun is finished by the next, and the commit can be summarised anew at once', async () => {
    await there.sealed(sha(1), { days: 100 })
    const stop = new AbortController()
    const { drive } = there.context.ports
    const dying = {
      ...there.context,
      ports: {
        ...there.context.ports,
        drive: {
          ...drive,
          remove: async (path: string, options: { recursive: boolean; signal: AbortSignal }) => {
            if (path === there.place.pointer(sha(1))) stop.abort()
            return drive.remove(path, { ...options, signal: stop.signal })
          },
        },
      },
    }
    await expect(prune(await plan(), dying, stop.signal)).rejects.toMatchObject({ code: 'cancelled' })
    expect(await look(sha(1))).toBeUndefined()
    there.time.now += 2 * day
    expect(await act(await plan())).toEqual(['removed', 'removed'])
    expect(there.files()).toEqual([])
  })

  test('a summary that meets a removal waits for its end and then speaks for the commit', async () => {
    await there.sealed(sha(1), { days: 100 })
    const { drive } = there.context.ports
    const old = (await look(sha(1)))!
    const handoff = { ...old.handoff, run: `${sha(1)}-late` as typeof old.handoff.run }
    const pointer = await seal(drive, there.place, handoff, [], never)
    const pointerPath = there.place.pointer(sha(1))
    const mark = JSON.stringify({
      version: 1,
      removed: old.handoff.run,
      removedAt: new Date(there.time.now).toISOString(),
    })
    there.drive.write(pointerPath, mark)
    const pointing = writePointer(there.context.ports, there.place, pointer, 1, never)
    await expect
      .poll(
        () => there.drive.requests.filter(({ method, path }) => method === 'GET' && path.endsWith(pointerPath)).length,
      )
      .toBeGreaterThan(2)
    there.drive.remove(pointerPath)
    expect((await pointing).run).toBe(handoff.run)
    expect((await look(sha(1)))?.handoff.run).toBe(handoff.run)
  })

  test('a drive that refuses costs that item alone', async () => {
    const first = await there.sealed(sha(1), { days: 100 })
    await there.sealed(sha(2), { days: 100 })
    const { drive } = there.context.ports
    const remove: typeof drive.remove = async (path, options) => {
      if (path.startsWith(there.place.run(first))) throw new HandoffError('drive', 'drive9 is tired.')
      return drive.remove(path, options)
    }
    const context = { ...there.context, ports: { ...there.context.ports, drive: { ...drive, remove } } }
    const done = await prune(await plan(), context, never)
    expect(done.map(({ outcome, why }) => why ?? outcome).sort()).toEqual(['drive9 is tired.', 'removed'])
  })
})
