// Watching a directory.
import type { FilesystemEvent } from 'e2b'
import { expect, test } from 'vitest'
import { until } from '../../support/until.js'
import { rejection, type SandboxFixture } from './fixture.js'

export function watchContract(fixture: SandboxFixture): void {
  const files = () => fixture.shared.files

  async function watching(directory: string, options: object, act: (seen: FilesystemEvent[]) => Promise<void>) {
    await files().makeDir(directory)
    const seen: FilesystemEvent[] = []
    const handle = await files().watchDir(directory, (event) => void seen.push(event), options)
    await act(seen)
    await handle.stop()
    return seen
  }

  const has = (seen: FilesystemEvent[], type: string, name: string) =>
    until(`${type} ${name} is reported`, () => seen.find((event) => event.type === type && event.name === name))

  test('what happens to a file is reported, in order', async () => {
    await watching('watched', {}, async (seen) => {
      await files().write('watched/one.txt', 'first')
      await has(seen, 'create', 'one.txt')
      await has(seen, 'write', 'one.txt')
      await fixture.shared.commands.run('chmod 600 watched/one.txt')
      await has(seen, 'chmod', 'one.txt')
      await files().rename('watched/one.txt', 'watched/two.txt')
      await has(seen, 'rename', 'one.txt')
      await has(seen, 'create', 'two.txt')
      await files().remove('watched/two.txt')
      await has(seen, 'remove', 'two.txt')
    })
  })

  test('below only when asked, with the entry when asked', async () => {
    await files().makeDir('watched-deep/below')
    const seen = await watching('watched-deep', { recursive: true, includeEntry: true }, async (events) => {
      await files().write('watched-deep/below/leaf.txt', '123')
      await has(events, 'create', 'below/leaf.txt')
    })
    const created = seen.find(({ type }) => type === 'create')
    expect(created?.entry).toMatchObject({
      name: 'leaf.txt',
      type: 'file',
      path: '/home/user/watched-deep/below/leaf.txt',
    })
    const shallow = await watching('watched-deep', {}, async (events) => {
      await files().write('watched-deep/below/other.txt', '1')
      await files().write('watched-deep/here.txt', '1')
      await has(events, 'create', 'here.txt')
    })
    expect(shallow.filter(({ name }) => name.includes('other.txt'))).toEqual([])
    expect(shallow.every(({ entry }) => entry === undefined)).toBe(true)
  })

  test('after it was stopped nothing is reported', async () => {
    const seen = await watching('watched-not', {}, async () => undefined)
    await files().write('watched-not/x.txt', 'x')
    await watching('watched-not', {}, async (events) => {
      await files().write('watched-not/y.txt', 'y')
      await has(events, 'create', 'y.txt')
    })
    expect(seen).toEqual([])
  })

  test('only a directory can be watched', async () => {
    await files().write('not-a-directory', 'x')
    const watch = (path: string) => rejection(files().watchDir(path, () => undefined))
    expect((await watch('no/such/place')).name).toBe('FileNotFoundError')
    expect((await watch('not-a-directory')).name).toBe('InvalidArgumentError')
  })
}
