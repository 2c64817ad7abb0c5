// How long Sandbox B takes to find what bears on a question, against one `git grep` over the same bare repository for the question's words.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { promisify } from 'node:util'
import { find } from '../handoff/sandbox/program/search/index.js'
import { survey } from '../handoff/sandbox/program/survey/index.js'

const execute = promisify(execFile)
const runs = 5
const questions = [
  'How are requests retried after a timeout?',
  'Where is the configuration file parsed?',
  'What happens when a file is removed?',
]

export async function benchFind(repositories: string[]): Promise<void> {
  const say = (text: string) => process.stdout.write(`${text}\n`)
  say('\nFind: against one git grep of the same words (goal 5 ×, on a repository of about 2,000 files)')
  for (const directory of repositories) {
    const gitDirectory = existsSync(join(directory, '.git')) ? join(directory, '.git') : directory
    const git = async (...words: string[]) =>
      (
        await execute('git', ['-C', gitDirectory, ...words], { maxBuffer: 1 << 28 }).catch(
          (error: { stdout: string }) => error,
        )
      ).stdout
    const commit = (await git('rev-parse', 'HEAD')).trim()
    const files = (await git('ls-tree', '-r', '--name-only', commit)).split('\n').length - 1
    const { outline } = await survey({ gitDirectory, commit, limits: { textBytes: 1_000, include: [], exclude: [] } })
    const grepped: number[] = []
    const found: number[] = []
    for (let run = 0; run < runs; run += 1) {
      for (const question of questions) {
        const words = question.toLowerCase().match(/[a-z]{4,}/g) ?? []
        grepped.push(await timed(() => git('grep', '-c', '-i', '-I', ...words.flatMap((word) => ['-e', word]), commit)))
        found.push(
          await timed(() =>
            find({
              gitDirectory,
              commit,
              outline,
              search: { question, terms: [], tokens: 12_000, shown: [] },
            }),
          ),
        )
      }
    }
    say(`  ${basename(directory)}, ${files} files`)
    say(`    git grep ${list(grepped)} ms`)
    say(`    find     ${list(found)} ms`)
    say(
      `    ratio of medians ${(median(found) / median(grepped)).toFixed(2)}, of minima ${(Math.min(...found) / Math.min(...grepped)).toFixed(2)}`,
    )
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

const median = (values: number[]) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
const list = (values: number[]) => values.map((value) => Math.round(value)).join(' ')
