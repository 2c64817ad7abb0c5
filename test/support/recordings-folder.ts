// The folder in which a suite shares what sandbox programs did (`repeated-programs.ts`). Each run of the suite records anew.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder of the suite's recordings. */
    recordings: string
  }
}

export default function setup(project: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'recordings-'))
  project.provide('recordings', folder)
  return () => rmSync(folder, { recursive: true, force: true })
}
