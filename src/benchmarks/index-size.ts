// How large the search index of a commit is against the text that can be searched, and the processor time that it takes to make.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { survey } from '../handoff/sandbox/program/survey/index.js'
import { openStored, storeCommit } from './stored-commit.js'

const run = promisify(execFile)
const goal = 10

/** Prints a line for each repository. */
export async function benchIndex(repositories: readonly string[]): Promise<void> {
  const say = (text: string) => process.stdout.write(`${text}\n`)
  say(`\nIndex: size against the searchable text (goal ${goal} %), and processor time to make it`)
  for (const repository of repositories) {
    const directory = existsSync(join(repository, '.git')) ? join(repository, '.git') : repository
    const commit = (await run('git', ['-C', directory, 'rev-parse', 'HEAD'])).stdout.trim()
    const limits = { textBytes: 1_000, include: [], exclude: [] }
    const { outline } = await survey({ gitDirectory: directory, commit, limits })
    const stored = await storeCommit(directory, commit, outline)
    const { source } = await openStored(stored, commit)
    const { words } = source.corpus
    if (!('texts' in words)) throw new Error(`The index of ${repository} has no words.`)
    const text = words.texts.reduce((sum, { file }) => sum + file.size, 0)
    const bytes = stored.table.length + stored.pages.length
    const name = basename(repository) === 'repo' ? basename(dirname(repository)) : basename(repository)
    say(
      `  ${name}: ${words.texts.length} files, ${(text / 1e6).toFixed(1)} MB of text; index ${((bytes / text) * 100).toFixed(1)} %, ${Math.round(stored.indexMs)} ms`,
    )
  }
}
