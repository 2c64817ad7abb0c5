// `npm run eval:history`: makes questions from a repository's history. The message of a commit is the question, the lines that it changed are the
// answer, and the commit before it is where the question is asked.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { promisify } from 'node:util'
import { type Given, runCommand } from '../cli/command-line.js'
import { HandoffError } from '../handoff/domain/errors.js'
import { hasTestName, traitsForFolder } from '../handoff/sandbox/program/survey/path-rules.js'
import type { Gold, Question } from './search-quality-types.js'

const execute = promisify(execFile)

const command = {
  name: 'eval:history',
  description: `Makes questions for npm run eval from the history of clones.

A commit counts if its message says something and if it changes one to five files of the given endings, none of them a
test. Its message is the question; the old side of its change is the answer, at its parent. With --back the questions of
a clone are the commits since one commit and are asked there; lines count where the file was the same at the parent.`,
  positionals: { usage: 'CLONE…', least: 1, most: 100 },
  options: {
    out: { type: 'string', value: 'FILE', help: 'where the questions go, JSON lines; needed' },
    endings: { type: 'string', value: 'LIST', help: 'the endings of files that count, such as ts,tsx; needed' },
    count: { type: 'string', value: 'COUNT', help: 'questions in all, spread evenly over the clones', default: '200' },
    back: {
      type: 'string',
      value: 'COMMITS',
      help: 'ask all questions of a clone at one commit, so many before the newest; large samples take less time',
    },
  },
  example: 'eval:history -- --endings go --out go.jsonl ../clones/fzf ../clones/gin',
  cost: 'nothing; some seconds a clone.',
} as const

/** Commits that are looked through in each clone, the newest first. */
const depth = '6000'
const limits = { files: 5, changedLines: 200, characters: 4_000 }

async function makeQuestions({ values, positionals }: Given<typeof command.options>): Promise<void> {
  const { out, endings, count = '200', back } = values
  if (!out || !endings || ![count, back ?? '1'].every((number) => /^\d{1,6}$/.test(number))) {
    throw new HandoffError('invalid-input', '--out, --endings, --count or --back is missing or wrong.', {
      next: `Write for instance npm run ${command.example}.`,
    })
  }
  const rows: Question[] = []
  for (const [index, clone] of positionals.entries()) {
    const share =
      Math.floor(((index + 1) * Number(count)) / positionals.length) -
      Math.floor((index * Number(count)) / positionals.length)
    const made = await questionsOf(clone, new Set(endings.split(',')), share, back)
    process.stdout.write(`${made.length} questions of ${clone}\n`)
    rows.push(...made)
  }
  await writeFile(out, rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
}

async function questionsOf(
  clone: string,
  endings: ReadonlySet<string>,
  most: number,
  back: string | undefined,
): Promise<Question[]> {
  const git = async (...words: string[]) =>
    (await execute('git', ['-C', clone, ...words], { maxBuffer: 1 << 29 })).stdout
  const base = back && (await git('rev-list', '--first-parent', '--skip', back, '-n', '1', 'HEAD')).trim()
  // Names without sizes, because a clone may lack old blobs.
  const log = await git(
    'log',
    '--no-merges',
    '-n',
    depth,
    '--no-renames',
    '--name-status',
    '--format=%x01%H%x00%P%x00%B%x00',
    base ? `${base}..HEAD` : 'HEAD',
  )
  const commits = log
    .split('\x01')
    .slice(1)
    .flatMap((text) => candidate(text, endings) ?? [])
    // A fixed order without a pattern, so that the same clone gives the same questions.
    .sort((a, b) => compareHash(a.sha, b.sha))
  const rows: Question[] = []
  for (const { sha, parent, message, paths } of commits) {
    if (rows.length === most) break
    const diff = await git('diff', '-U0', '--no-renames', parent, sha, '--', ...paths).catch(() => '')
    const gold = changedLines(diff)
    const changed = diff.match(/^[+-](?![+-])/gm)?.length ?? 0
    if (gold.length !== paths.length || changed < 2 || changed > limits.changedLines) continue
    const places = base ? await placesAt(git, base, parent, gold) : gold
    if (!places) continue
    rows.push({
      id: `${repositoryOf(clone)}-${sha.slice(0, 10)}`,
      repository: repositoryOf(clone),
      commit: base || parent,
      question: message,
      gold: places,
    })
  }
  return rows
}

/** The places at another commit: lines where the file is the same there. Undefined where a file is missing there. */
async function placesAt(
  git: (...words: string[]) => Promise<string>,
  base: string,
  parent: string,
  gold: readonly Gold[],
): Promise<Gold[] | undefined> {
  const blobsOf = async (commit: string) => {
    const tree = await git('ls-tree', '-z', commit, '--', ...gold.map(({ path }) => path))
    return new Map(tree.split('\0').map((row) => [row.split('\t')[1], row.split('\t')[0]]))
  }
  const [there, here] = [await blobsOf(base), await blobsOf(parent)]
  if (gold.some(({ path }) => !there.has(path))) return undefined
  return gold.map(({ path, lines }) => ({ path, lines: there.get(path) === here.get(path) ? lines : [] }))
}

const hashOf = (sha: string) => createHash('sha256').update(sha).digest('hex')
const compareHash = (a: string, b: string) => (hashOf(a) < hashOf(b) ? -1 : 1)

/** A clone stands in a folder called owner+name, or is called so. */
function repositoryOf(clone: string): string {
  const name = [basename(clone), basename(dirname(clone))].find((part) => part.includes('+')) ?? basename(clone)
  return name.replace('+', '/')
}

function candidate(text: string, endings: ReadonlySet<string>) {
  const [sha = '', parents = '', message = '', changes = ''] = text.split('\0')
  const rows = changes
    .trim()
    .split('\n')
    .map((row) => row.split('\t'))
  const touched = rows.filter(([, path = '']) => endings.has(path.split('.').at(-1) ?? '') && !liesInTests(path))
  const plain = cleanMessage(message)
  const fits = touched.length > 0 && touched.length <= limits.files && touched.every(([state]) => state === 'M')
  if (!fits || parents.includes(' ') || parents === '' || !saysSomething(plain)) return undefined
  return { sha, parent: parents, message: plain, paths: touched.map(([, path = '']) => path) }
}

const liesInTests = (path: string) =>
  hasTestName(basename(path)) ||
  dirname(path)
    .split('/')
    .some((folder) => traitsForFolder(folder) !== 0)

/** Without trailers, issue numbers and the list of squashed commits. */
function cleanMessage(message: string): string {
  return message
    .replace(/\n--HG--[\s\S]*$/, '')
    .replace(/^[\w-]+-by:.*$/gim, '')
    .replace(/\(?\b(?:gh-|#)\d+\)?|\(#\d+\)/gi, '')
    .replace(/^\s*\*\s.*$/gm, '')
    .replace(/https?:\/\/\S+/g, '')
    .trim()
    .slice(0, limits.characters)
}

function saysSomething(message: string): boolean {
  const [subject = ''] = message.split('\n')
  if (/\[(?:ci skip|skip ci)\]/i.test(message) || /\b\d+\.\d+\.\d+\b/.test(subject)) return false
  if (
    /^(?:chore|docs?|ci|github|releaser?|build|tests?|style|revert|merge|bump|update changelog|deps|lint|v?\d)\b/i.test(
      subject,
    )
  )
    return false
  if (
    /\b(?:bump|typos?|changelog|release|version|lint|prettier|format(?:ting)?|upgrade|rename|reformat|copyright)\b/i.test(
      subject,
    )
  )
    return false
  if (
    /\b(?:refactor|clean|tid[iy]|tweak|javadoc|polish|minor|simplif|coverage|compat|reverted?|warnings?|comments?|build)/i.test(
      subject,
    )
  )
    return false
  return (subject.match(/\p{L}{3,}/gu) ?? []).length >= 5
}

/** The lines of the old side, by file; an insertion counts as the line above it. New files have no old side. */
function changedLines(diff: string): Gold[] {
  return diff.split(/^diff --git /m).flatMap((file) => {
    const path = /^--- a\/(.+)$/m.exec(file)?.[1]
    if (!path || !/^\+\+\+ b\//m.test(file)) return []
    const lines = [...file.matchAll(/^@@ -(\d+)(?:,(\d+))? /gm)].map(([, from, count]): [number, number] => {
      const first = Math.max(1, Number(from))
      return [first, first + Math.max(1, Number(count ?? 1)) - 1]
    })
    return lines.length === 0 ? [] : [{ path, lines }]
  })
}

await runCommand(command, makeQuestions)
