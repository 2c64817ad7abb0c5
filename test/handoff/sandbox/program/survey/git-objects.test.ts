// What git prints comes in pieces that begin and end anywhere.
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createBlobParser, gitAt, listTree } from '../../../../../src/handoff/sandbox/program/survey/git-objects.js'
import { createTreeParser } from '../../../../../src/handoff/sandbox/program/survey/git-tree.js'
import { makeRepository } from '../../../../support/repository.js'

const runs = process.env['LONG'] === '1' ? 1_000 : 50

/** Cuts bytes at the given places, wherever they fall. */
function pieces(bytes: Buffer, cuts: number[]): Buffer[] {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted((a, b) => a - b)
  return [...places, bytes.length].map((end, index) => bytes.subarray(index === 0 ? 0 : places[index - 1], end))
}

const cuts = fc.array(fc.nat(100_000), { maxLength: 40 })

test('objects arrive whole and in order, and missing ones are reported', () => {
  const object = fc.option(fc.uint8Array({ maxLength: 300 }), { nil: undefined })
  fc.assert(
    fc.property(fc.array(object, { maxLength: 12 }), cuts, (objects, where) => {
      const output = objects.map((bytes, index) => {
        const id = index.toString(16).padStart(40, '0')
        return bytes === undefined
          ? Buffer.from(`${id}:path missing\n`)
          : Buffer.concat([Buffer.from(`${id} blob ${bytes.length}\n`), bytes, Buffer.from('\n')])
      })
      const taken: (string | undefined)[] = []
      const parser = createBlobParser((index, bytes) => {
        taken[index] = bytes?.toString('hex')
      })
      for (const piece of pieces(Buffer.concat(output), where)) parser.push(piece)
      expect(taken).toEqual(
        objects.map((bytes) => (bytes === undefined ? undefined : Buffer.from(bytes).toString('hex'))),
      )
      expect(parser.count()).toBe(objects.length)
      expect(parser.atEnd()).toBe(true)
    }),
    { numRuns: runs * 2 },
  )
})

test('the tree list parses the same however it is split', () => {
  const id = 'a'.repeat(40)
  const rows = [
    `040000 tree ${id}       -\tsrc`,
    `100644 blob ${id}      12\tsrc/a b\tc.ts`,
    `100755 blob ${id} 1234567\tsrc/new\nline`,
    `040000 tree ${id}       -\tsrc/größe`,
    `120000 blob ${id}       3\tsrc/größe/ß`,
    `160000 commit ${id}       -\tmodule`,
    `100644 blob ${id}     BAD\tlost`,
  ]
  const listing = Buffer.concat([
    Buffer.from(rows.map((row) => `${row}\u0000`).join('')),
    Buffer.from(`100644 blob ${id}       5\tcaf\xe9\u0000`, 'latin1'),
  ])
  const expected = [
    ['src/a b\tc.ts', 12, undefined],
    ['src/new\nline', 1_234_567, undefined],
    ['src/größe/ß', 3, undefined],
    ['module', 0, undefined],
    ['lost', 0, 'missing'],
    ['caf\ufffd', 5, undefined],
  ]
  fc.assert(
    fc.property(cuts, (where) => {
      const parser = createTreeParser()
      for (const piece of pieces(listing, where)) parser.push(piece)
      const tree = parser.finish('b'.repeat(40))
      expect(tree.entries.map(({ path, size, reason }) => [path, size, reason])).toEqual(expected)
      expect(tree.folders.map(({ path, files, bytes }) => [path, files, bytes])).toEqual([
        ['', 6, 1_234_587],
        ['src', 3, 1_234_582],
        ['src/größe', 1, 3],
      ])
    }),
    { numRuns: runs },
  )
})

test('a few objects that name billions of files end with a sentence', async () => {
  await using repository = await makeRepository({ a: '' })
  const git = (input: string, ...args: string[]) =>
    execFileSync('git', ['--git-dir', repository.directory, ...args], { input, encoding: 'utf8' }).trim()
  // Git asks no object for the size of a submodule, so the list is quick.
  let [type, id] = ['160000 commit', repository.head]
  for (let depth = 0; depth < 5; depth += 1) {
    const entries = Array.from({ length: 100 }, (_, index) => `${type} ${id}\t${String(index).padStart(2, '0')}\n`)
    id = git(entries.join(''), 'mktree', '--missing')
    type = '040000 tree'
  }
  let seen = 0
  const failure = listTree(gitAt(repository.directory), id, (chunk) => {
    seen += chunk.length
  })
  await expect(failure).rejects.toMatchObject({
    failure: 'too-many-files',
    message: expect.stringContaining('2,000,000'),
  })
  // Some 80 bytes for each of two million entries.
  expect(seen).toBeLessThan(300_000_000)
}, 60_000)

test('git runs no program that the configuration of a repository names, also for an object that is missing', async () => {
  await using repository = await makeRepository({ a: '' })
  const trace = join(repository.directory, 'trace')
  const settings = {
    'core.repositoryformatversion': '1',
    'extensions.partialClone': 'evil',
    'remote.evil.url': `ext::touch ${trace}`,
    'remote.evil.promisor': 'true',
    'protocol.ext.allow': 'always',
  }
  for (const [name, value] of Object.entries(settings)) await repository.git('config', name, value)
  const child = gitAt(repository.directory)(['cat-file', '-p', 'f'.repeat(40)])
  child.stdin.end()
  child.stdout.resume()
  child.stderr.resume()
  const [exitCode] = await once(child, 'close')
  expect(exitCode).not.toBe(0)
  expect(existsSync(trace)).toBe(false)
})
