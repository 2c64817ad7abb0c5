// Given one changed file of a real commit: how many of the other files that changed with it are named, and how many of the named ones changed. Beside
// it two plain methods: files that changed together before (co-change), and files that import it or that it imports.
import { execFile } from 'node:child_process'
import { basename, dirname } from 'node:path'
import { promisify } from 'node:util'
import { survey } from '../handoff/sandbox/program/survey/index.js'

const run = promisify(execFile)

const rippleCommits = 200
/** A commit with more source files is a sweep: it changes what has nothing to do with each other. */
const mostFilesOfCommit = 30
/** How many names of each method count in the short list. */
const shortList = 10
/** Commits before, from which co-change learns. */
const historyLength = 1_000

interface Tally {
  /** Sums over all given files. */
  recall: number
  precision: number
  named: number
  /** Given files for which the method names anything. */
  answered: number
}

const methods = [
  'ripples',
  'ripples, first 10',
  'co-change, first 10',
  'import neighbours',
  'import neighbours, first 10',
] as const
type Method = (typeof methods)[number]

interface RippleReport {
  repository: string
  commits: number
  /** Of all given files, and of those that are product code: a test has no ripples. */
  all: Measured
  sources: Measured
}

interface Measured {
  given: number
  tallies: Record<Method, Tally>
}

export async function benchRipples(
  repositories: readonly string[],
  commits = rippleCommits,
  say = (text: string) => void process.stdout.write(`${text}\n`),
): Promise<RippleReport[]> {
  say('\nRipples: given one changed file, the others of its commit')
  const reports: RippleReport[] = []
  for (const repository of repositories) {
    const report = await measureRipples(repository, commits)
    reports.push(report)
    const name = basename(repository) === 'repo' ? basename(dirname(repository)) : basename(repository)
    for (const [what, measured] of [
      ['changed files', report.all],
      ['changed product files', report.sources],
    ] as const) {
      say(`  ${name}: ${measured.given} ${what} in ${report.commits} commits`)
      printTallies(measured, say)
    }
  }
  return reports
}

function printTallies({ given, tallies }: Measured, say: (text: string) => void): void {
  for (const method of methods) {
    const { recall, precision, named, answered } = tallies[method]
    const share = (sum: number, of: number) => `${((100 * sum) / Math.max(1, of)).toFixed(1)} %`.padStart(7)
    const names = (named / Math.max(1, given)).toFixed(1)
    say(
      `    ${method.padEnd(28)} recall ${share(recall, given)}  precision ${share(precision, answered)}  ${names} names`,
    )
  }
}

/** Needs a repository with its history. Commits with one parent and two source files or more count. */
async function measureRipples(repository: string, wanted: number): Promise<RippleReport> {
  const git = async (...words: string[]) =>
    (await run('git', ['-C', repository, ...words], { maxBuffer: 1e9 })).stdout.trim()
  const directory = await git('rev-parse', '--absolute-git-dir')
  const history = parseHistory(
    await git(
      'log',
      '--no-merges',
      '--first-parent',
      '-n',
      String(wanted * 6 + historyLength),
      '--format=%x01%H %P',
      '--name-only',
      'HEAD',
    ),
  )
  const [all, sources] = [nothingMeasured(), nothingMeasured()]
  let commits = 0
  for (const [index, past] of history.entries()) {
    const isSweep = past.files.length > mostFilesOfCommit
    if (commits === wanted || isSweep || past.files.length < 2) continue
    const before = history.slice(index + 1, index + 1 + historyLength)
    if (await measureCommit(givenFiles(directory, past, before), all, sources)) commits += 1
  }
  return { repository, commits, all, sources }
}

/** False when fewer than two of its files are there. */
async function measureCommit(given: AsyncIterable<Given>, all: Measured, sources: Measured): Promise<boolean> {
  const before = all.given
  for await (const { kind, named, truth } of given) {
    for (const measured of kind === 'source' ? [all, sources] : [all]) {
      measured.given += 1
      for (const method of methods) count(measured.tallies[method], named[method], truth)
    }
  }
  return all.given > before
}

interface Given {
  kind: string | undefined
  named: Record<Method, string[]>
  /** The other files of the commit. */
  truth: ReadonlySet<string>
}

/** Each changed file of the commit that is still there, and what each method names for it. */
async function* givenFiles(
  gitDirectory: string,
  { commit, parent, files }: PastCommit,
  before: readonly PastCommit[],
): AsyncGenerator<Given> {
  const found = await survey({ gitDirectory, commit, limits: { textBytes: 10_000, include: [], exclude: [] } })
  const kinds = new Map(found.table.files.map(({ path, kind }) => [path, kind]))
  const present = new Set(kinds.keys())
  const changed = files.filter((path) => present.has(path))
  const neighbours = neighboursIn(found.outline.imports ?? {})
  for (const file of changed.length < 2 ? [] : changed) {
    const { change } = await found.describeChange(parent, 0, (path) => path === file)
    const ripples = change.ripples.map(({ path }) => path)
    const beside = neighbours(file)
    const named = {
      ripples,
      'ripples, first 10': ripples.slice(0, shortList),
      'co-change, first 10': coChanged(file, before, present).slice(0, shortList),
      'import neighbours': beside,
      'import neighbours, first 10': beside.slice(0, shortList),
    }
    yield { kind: kinds.get(file), named, truth: new Set(changed.filter((other) => other !== file)) }
  }
}

function nothingMeasured(): Measured {
  const none = () => ({ recall: 0, precision: 0, named: 0, answered: 0 })
  return { given: 0, tallies: Object.fromEntries(methods.map((method) => [method, none()])) as Record<Method, Tally> }
}

interface PastCommit {
  commit: string
  parent: string
  /** Source files, tests among them. */
  files: string[]
}

const isSource = (path: string) =>
  /\.(?:[cm]?[jt]sx?|vue|svelte|py|go|rs|java|kt|c|h|cc|cpp|hpp)$/.test(path) && !/\.d\.ts$/.test(path)

function parseHistory(text: string): PastCommit[] {
  return text
    .split('\x01')
    .slice(1)
    .flatMap((part) => {
      const [head = '', ...files] = part.split('\n')
      const [commit = '', parent] = head.split(' ')
      return parent === undefined ? [] : [{ commit, parent, files: files.filter(isSource) }]
    })
}

/** The files that changed most often with this one before; the same number by name. */
function coChanged(file: string, before: readonly PastCommit[], present: ReadonlySet<string>): string[] {
  const counts = new Map<string, number>()
  for (const { files } of before) {
    if (files.length > mostFilesOfCommit || !files.includes(file)) continue
    for (const other of files) if (other !== file && present.has(other)) counts.set(other, (counts.get(other) ?? 0) + 1)
  }
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([path]) => path)
}

function neighboursIn(imports: Record<string, [path: string, line: number][]>): (file: string) => string[] {
  const importers = new Map<string, string[]>()
  for (const [from, targets] of Object.entries(imports)) {
    for (const [target] of targets) importers.set(target, [...(importers.get(target) ?? []), from])
  }
  return (file) => [...new Set([...(importers.get(file) ?? []), ...(imports[file] ?? []).map(([path]) => path)])]
}

function count(tally: Tally, named: readonly string[], truth: ReadonlySet<string>): void {
  const hits = named.filter((path) => truth.has(path)).length
  tally.recall += hits / truth.size
  tally.named += named.length
  if (named.length === 0) return
  tally.answered += 1
  tally.precision += hits / named.length
}
