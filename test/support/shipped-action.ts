// The Action as a job in another repository finds it: its dist in its own folder, with no package in any parent folder.
// The whole suite shares one copy. Node's compile cache is kept beside it between steps.
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    shippedAction: { folder: string; compileCache: string }
  }
}

export default function setup(project: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'shipped-action-'))
  cpSync(join(import.meta.dirname, '../../dist'), join(folder, 'dist'), { recursive: true })
  project.provide('shippedAction', {
    folder,
    compileCache: join(folder, 'compiled'),
  })
  return () => rmSync(folder, { recursive: true, force: true })
}
