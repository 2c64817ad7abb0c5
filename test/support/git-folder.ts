// Real git repositories in temporary directories, for what must be read from one.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

export interface GitFolder extends Disposable {
  directory: string
  git(...parts: string[]): string
  /** Writes these files (null removes one), commits everything, and returns the commit. */
  commit(files: Record<string, string | Uint8Array | null>, message?: string): string
}

const environment = {
  PATH: process.env['PATH'] ?? '',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.org',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.org',
}

export function gitFolder(): GitFolder {
  const directory = mkdtempSync(join(tmpdir(), 'commits-'))
  const git = (...parts: string[]) =>
    execFileSync('git', ['-C', directory, ...parts], { env: environment, encoding: 'utf8', stdio: 'pipe' }).trim()
  git('init', '--quiet', '--initial-branch=main')
  return {
    directory,
    git,
    commit(files, message = 'Change') {
      for (const [path, content] of Object.entries(files)) {
        const file = join(directory, path)
        mkdirSync(dirname(file), { recursive: true })
        if (content === null) rmSync(file)
        else writeFileSync(file, content)
      }
      git('add', '--all')
      git('commit', '--quiet', '--allow-empty', '--message', message)
      return git('rev-parse', 'HEAD')
    },
    [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }),
  }
}
