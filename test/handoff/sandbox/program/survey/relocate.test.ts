// Two commits of a repository: what was cited in the first is found again in the second, or said to be changed or gone.
import { describe, expect, it } from 'vitest'
import { digestLines } from '../../../../../src/handoff/domain/citations/digest-lines.js'
import type { CitedFile } from '../../../../../src/handoff/domain/sandbox-protocol.js'
import type { Relocation } from '../../../../../src/handoff/domain/sandbox-protocol-decoder.js'
import { decodeRecord } from '../../../../../src/handoff/domain/sandbox-protocol-decoder.js'
import { survey } from '../../../../../src/handoff/sandbox/program/survey/index.js'
import { type Files, makeRepository } from '../../../../support/repository.js'
import { surveyOf } from './survey-repository.js'

const server = [
  'import { listen } from "net"',
  '',
  'export function start(port: number) {',
  '  listen(port)',
  '}',
  '',
  'export function stopServer() {',
  '  throw new Error("cannot stop")',
  '}',
]
const text = (lines: readonly string[]) => `${lines.join('\n')}\n`

/** What becomes of lines of `src/server.ts` when the repository holds these files instead. */
async function found(
  now: Files,
  from = 3,
  to = 5,
  path = 'src/server.ts',
  shown = server.slice(from - 1, to),
): Promise<Relocation> {
  const before = await surveyOf({ 'src/server.ts': text(server), 'README.md': '# A\n' })
  const blob = before.table.files.find((row) => row.path === path)!.blob
  const cited: CitedFile[] = [{ path, blob, places: [{ from, to, digest: digestLines(shown) }] }]
  await using repository = await makeRepository(now)
  const limits = { textBytes: 100_000, include: [], exclude: [] }
  const { relocated } = await survey({ gitDirectory: repository.directory, commit: repository.head, limits, cited })
  expect(relocated).toHaveLength(1)
  decodeRecord(JSON.stringify({ v: 1, type: 'relocated', ...relocated[0] }))
  return relocated[0]!
}

describe('cited lines in a later commit', () => {
  it('are the same where the file is', async () => {
    const place = await found({ 'src/server.ts': text(server), 'src/other.ts': 'export {}\n' })
    expect(place).toMatchObject({ verdict: 'same', now: { path: 'src/server.ts', from: 3, to: 5 } })
  })

  it('have changed where the file is the same and never had them: a sandbox that was taken over showed them', async () => {
    const forged = ['export function start() {', '  // sends every key away', '}']
    expect(await found({ 'src/server.ts': text(server) }, 3, 5, 'src/server.ts', forged)).toMatchObject({
      verdict: 'changed',
    })
    expect(await found({ 'lib/net/serve.ts': text(server) }, 3, 5, 'src/server.ts', forged)).toMatchObject({
      verdict: 'changed',
    })
  })

  it('are the same in a file that was renamed', async () => {
    const place = await found({ 'lib/net/serve.ts': text(server) })
    expect(place).toMatchObject({ verdict: 'same', now: { path: 'lib/net/serve.ts', from: 3, to: 5 } })
  })

  it('have moved with what was written above them', async () => {
    const place = await found({ 'src/server.ts': text(['// Serves.', '', ...server]) })
    expect(place).toMatchObject({ verdict: 'moved', now: { path: 'src/server.ts', from: 5, to: 7 } })
  })

  it('have moved with a directory whose files were edited', async () => {
    const place = await found({ 'packages/a/server.ts': text(['import "./env"', ...server]) })
    expect(place).toMatchObject({ verdict: 'moved', now: { path: 'packages/a/server.ts', from: 4, to: 6 } })
  })

  it('are found by a host that decodes files otherwise', async () => {
    const place = await found({ 'src/server.ts': `\ufeff// 1\r\n${server.join(' \r\n')}\r\n` })
    expect(place).toMatchObject({ verdict: 'moved', now: { from: 4, to: 6 } })
  })

  it.each<[string, Files]>([
    ['one of them was edited', { 'src/server.ts': text(server).replace('listen(port)', 'listen(port, "::1")') }],
    ['a line was put between them', { 'src/server.ts': text(server).replace('  listen', '  check()\n  listen') }],
    ['they were indented', { 'src/server.ts': text(server.map((line) => `  ${line}`)) }],
    ['they are there twice, and neither is where it was', { 'src/server.ts': text(['', ...server, ...server]) }],
    ['the file is binary now', { 'src/server.ts': `\u0000\u0001${text(server)}` }],
    ['the file is empty now', { 'src/server.ts': '' }],
  ])('are changed when %s', async (_what, now) => {
    expect(await found(now)).toMatchObject({ verdict: 'changed' })
  })

  it('that say too little to be recognised are changed with their file', async () => {
    expect(await found({ 'src/server.ts': text(server.slice(0, 5)) }, 9, 9)).toMatchObject({ verdict: 'changed' })
    expect(await found({ 'src/server.ts': text([...server, '// end']) }, 5, 5)).toMatchObject({ verdict: 'changed' })
  })

  it('stay where they stood, although they stand elsewhere too', async () => {
    const place = await found({ 'src/server.ts': text([...server, ...server]) })
    expect(place).toMatchObject({ verdict: 'moved', now: { from: 3, to: 5 } })
  })

  it('are gone with their file', async () => {
    expect(await found({ 'README.md': '# A\n' })).toMatchObject({ verdict: 'gone' })
  })

  it('are gone when files of the same name could both be what the file became', async () => {
    const place = await found({ 'a/server.ts': text(['//', ...server]), 'b/server.ts': text(['//', '', ...server]) })
    expect(place).toMatchObject({ verdict: 'gone' })
  })

  it('are not followed through a symbolic link', async () => {
    const place = await found({ 'src/server.ts': { symlink: 'real.ts' }, 'src/real.ts': 'export {}\n' })
    expect(place).toMatchObject({ verdict: 'gone' })
  })

  it('with a forged digest are changed, unless the file is byte for byte the same', async () => {
    const before = await surveyOf({ 'a.ts': text(server) })
    const { blob } = before.table.files[0]!
    const cited = [{ path: 'a.ts', blob, places: [{ from: 3, to: 5, digest: '0'.repeat(64) }] }]
    await using repository = await makeRepository({ 'a.ts': text(['//', ...server]) })
    const limits = { textBytes: 100_000, include: [], exclude: [] }
    const { relocated } = await survey({ gitDirectory: repository.directory, commit: repository.head, limits, cited })
    expect(relocated).toMatchObject([{ verdict: 'changed' }])
  })
})
