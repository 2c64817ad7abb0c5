// File operations below a mountpoint, each in another process than the test's. A call that blocks this process until a mount answers would never
// end where the mount waits for a server in this process.
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'

export interface FileOperations {
  read(name: string): Promise<Buffer>
  text(name: string): Promise<string>
  write(name: string, content: string | Uint8Array, options?: { mode: number }): Promise<void>
  writeAndSync(name: string, content: string): Promise<void>
  list(): Promise<string[]>
  exists(name: string): Promise<boolean>
  /** The permission bits. */
  mode(name: string): Promise<number>
  changeMode(name: string, mode: number): Promise<void>
  rename(from: string, to: string): Promise<void>
  link(target: string, name: string): Promise<void>
  makeDirectory(name: string): Promise<void>
  /** With everything below it; without a name, the mountpoint itself. */
  remove(name?: string): Promise<void>
  close(): void
}

interface Answer {
  id: number
  value?: unknown
  error?: { message: string; code?: string }
}

export function fileOperationsIn(
  mountpoint: string,
  environment: Record<string, string | undefined> = process.env,
): FileOperations {
  const waiting = new Map<number, (answer: Answer) => void>()
  let child: ChildProcess | undefined
  let asked = 0

  function start(): ChildProcess {
    const started = spawn(process.execPath, [join(import.meta.dirname, 'file-operations.mjs')], {
      env: environment,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      serialization: 'advanced',
    })
    started.on('message', (answer: Answer) => {
      waiting.get(answer.id)?.(answer)
      waiting.delete(answer.id)
    })
    return started
  }

  async function ask<T>(operation: string, ...words: unknown[]): Promise<T> {
    child ??= start()
    asked += 1
    const id = asked
    const { value, error } = await new Promise<Answer>((resolve) => {
      waiting.set(id, resolve)
      child?.send({ id, operation, words })
    })
    if (error) throw Object.assign(new Error(error.message), { code: error.code })
    return value as T
  }

  const at = (name: string) => join(mountpoint, name)
  return {
    read: async (name) => Buffer.from(await ask<Uint8Array>('readFile', at(name))),
    text: (name) => ask('readFile', at(name), 'utf8'),
    write: (name, content, options) => ask('writeFile', at(name), content, options),
    writeAndSync: (name, content) => ask('writeAndSync', at(name), content),
    list: () => ask('readdir', mountpoint),
    exists: (name) =>
      ask('access', at(name)).then(
        () => true,
        () => false,
      ),
    mode: async (name) => (await ask<{ mode: number }>('stat', at(name))).mode & 0o777,
    changeMode: (name, mode) => ask('chmod', at(name), mode),
    rename: (from, to) => ask('rename', at(from), at(to)),
    link: (target, name) => ask('symlink', target, at(name)),
    makeDirectory: async (name) => void (await ask('mkdir', at(name), { recursive: true })),
    remove: (name = '') => ask('rm', at(name), { recursive: true }),
    close: () => child?.kill('SIGKILL'),
  }
}
