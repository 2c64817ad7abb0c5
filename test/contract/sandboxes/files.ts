// Files: written and read whole, described, listed, moved, removed.
import { expect, test } from 'vitest'
import { rejection, type SandboxFixture } from './fixture.js'

export function fileContract(fixture: SandboxFixture): void {
  const files = () => fixture.shared.files

  test('files and commands read back exactly what was written', async () => {
    const written = await files().write('deep/er/text.txt', 'a line\nand é\n')
    expect(written).toMatchObject({ name: 'text.txt', path: '/home/user/deep/er/text.txt', type: 'file' })
    expect(await files().read('/home/user/deep/er/text.txt')).toBe('a line\nand é\n')
    expect(await files().read('~/deep/er/text.txt')).toBe('a line\nand é\n')
    expect((await fixture.shared.commands.run('cat deep/er/text.txt')).stdout).toBe('a line\nand é\n')
    await fixture.shared.commands.run('printf "from a command" > from.txt')
    expect(await files().read('from.txt')).toBe('from a command')
    await files().write('from.txt', '')
    expect(await files().read('from.txt')).toBe('')
  })

  test('bytes stay bytes, in every way to send and to take them', async () => {
    const bytes = Uint8Array.from({ length: 200_000 }, (_, index) => (index * 7) % 256)
    await files().write('plain.bin', bytes.buffer)
    await files().write('octet.bin', bytes.buffer, { useOctetStream: true })
    await files().write('packed.bin', bytes.buffer, { gzip: true })
    await files().write('stream.bin', new Blob([bytes]).stream())
    for (const name of ['plain.bin', 'octet.bin', 'packed.bin', 'stream.bin']) {
      expect(Buffer.from(await files().read(name, { format: 'bytes' })).equals(bytes), name).toBe(true)
    }
    const chunks: Uint8Array[] = []
    for await (const chunk of await files().read('plain.bin', { format: 'stream' })) chunks.push(chunk)
    expect(Buffer.concat(chunks).equals(bytes)).toBe(true)
    const { stdout } = await fixture.shared.commands.run('sha256sum <plain.bin; sha256sum <stream.bin')
    expect(new Set(stdout.trim().split('\n')).size).toBe(1)
  })

  test('many files go in one request', async () => {
    const entries = ['one', 'two', 'three'].map((name) => ({ path: `many/${name}.txt`, data: name }))
    const written = await files().write(entries)
    expect(written.map(({ path }) => path)).toEqual(entries.map(({ path }) => `/home/user/${path}`))
    expect((await files().list('many')).map(({ name }) => name).sort()).toEqual(['one.txt', 'three.txt', 'two.txt'])
  })

  test('entries are described', async () => {
    await files().write('described/file.txt', '12345')
    await fixture.shared.commands.run('chmod 640 described/file.txt; ln -s file.txt described/link')
    const file = await files().getInfo('described/file.txt')
    expect(file).toMatchObject({
      name: 'file.txt',
      type: 'file',
      path: '/home/user/described/file.txt',
      size: 5,
      mode: 0o640,
    })
    expect(file.permissions).toBe('-rw-r-----')
    expect(Math.abs(Date.now() - (file.modifiedTime?.getTime() ?? 0))).toBeLessThan(120_000)
    expect(await files().getInfo('described')).toMatchObject({ type: 'dir', path: '/home/user/described' })
    const link = await files().getInfo('described/link')
    expect(link).toMatchObject({ name: 'link', type: 'file', symlinkTarget: '/home/user/described/file.txt' })
  })

  test('directories are listed as deep as asked', async () => {
    await files().write('tree/a/b/c.txt', 'c')
    await files().write('tree/top.txt', 'top')
    const paths = async (depth: number) => (await files().list('tree', { depth })).map(({ path }) => path).sort()
    expect(await paths(1)).toEqual(['/home/user/tree/a', '/home/user/tree/top.txt'])
    expect(await paths(2)).toEqual(['/home/user/tree/a', '/home/user/tree/a/b', '/home/user/tree/top.txt'])
    expect(await paths(3)).toContain('/home/user/tree/a/b/c.txt')
  })

  test('directories are made once', async () => {
    expect(await files().makeDir('made/of/parts')).toBe(true)
    expect(await files().makeDir('made/of/parts')).toBe(false)
    expect(await files().exists('made/of')).toBe(true)
    await files().write('made/file', 'x')
    expect((await rejection(files().makeDir('made/file'))).name).toBe('InvalidArgumentError')
  })

  test('things are moved and removed', async () => {
    await files().write('moving/from.txt', 'moved')
    const entry = await files().rename('moving/from.txt', 'moving/below/to.txt')
    expect(entry.path).toBe('/home/user/moving/below/to.txt')
    expect(await files().exists('moving/from.txt')).toBe(false)
    expect(await files().read('moving/below/to.txt')).toBe('moved')
    expect((await rejection(files().rename('moving/nothing', 'moving/x'))).name).toBe('FileNotFoundError')
    await files().remove('moving')
    expect(await files().exists('moving')).toBe(false)
    await files().remove('moving')
  })

  test('what is not there, or is something else, is said so', async () => {
    await files().makeDir('folder')
    await files().write('leaf', 'x')
    expect((await rejection(files().read('nothing/here'))).name).toBe('FileNotFoundError')
    expect((await rejection(files().getInfo('nothing/here'))).name).toBe('FileNotFoundError')
    expect((await rejection(files().list('nothing/here'))).name).toBe('FileNotFoundError')
    expect((await rejection(files().list('leaf'))).name).toBe('InvalidArgumentError')
    expect((await rejection(files().read('folder'))).name).toBe('InvalidArgumentError')
    expect((await rejection(files().write('folder', 'x'))).name).toBe('InvalidArgumentError')
    expect((await rejection(files().read('~other/file'))).name).toBe('InvalidArgumentError')
    expect((await rejection(files().read('leaf', { user: 'no-such-user' }))).name).toBe('AuthenticationError')
  })
}
