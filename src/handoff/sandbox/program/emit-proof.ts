// Sends the git objects that lead from the commit to what is shown, so that the host need not believe this sandbox.
import { deflateRawSync } from 'node:zlib'
import type { ObjectKind } from '../../domain/git-proof.js'
import { emit } from './emit-record.js'
import { gitAt, openBlobReader } from './survey/git-objects.js'

export async function emitProof(
  gitDirectory: string,
  commit: string,
  shown: { excerpts: readonly { path: string; blob: string }[]; listings?: readonly { path: string }[] },
): Promise<void> {
  const directories = new Set(['', ...shown.excerpts.flatMap(({ path }) => parentsOf(path))])
  for (const { path } of shown.listings ?? []) for (const one of [path, ...parentsOf(path)]) directories.add(one)
  const objects: { kind: ObjectKind; name: string }[] = [
    { kind: 'commit', name: commit },
    ...[...directories]
      .filter((path) => !/[\n\r]/.test(path))
      .map((path) => ({ kind: 'tree' as const, name: path === '' ? `${commit}^{tree}` : `${commit}:${path}` })),
    ...[...new Set(shown.excerpts.map(({ blob }) => blob))].map((name) => ({ kind: 'blob' as const, name })),
  ]
  const names = objects.map(({ name }) => name)
  await openBlobReader(gitAt(gitDirectory), 'many').read(names, (index, bytes) => {
    if (!bytes) return
    const data = deflateRawSync(bytes, { level: 1 }).toString('base64')
    emit({ type: 'object', kind: objects[index]!.kind, data })
  })
}

/** `a/b/c.ts` → `a`, `a/b`. */
function parentsOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1)
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'))
}
