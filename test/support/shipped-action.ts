// The Action as somebody else's job finds it: its dist in a folder of its own, with no package anywhere above it. One copy serves the whole suite,
// and what Node compiled of it is kept beside it from one step to the next.
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
