// Builds the functions and gathers the page as the platform does, with the platform's own builder, and without a network: what comes out is
// what a deployment runs. Kept by what went in, so that nothing is built twice, and kept far from the sources: what is not inside a function
// is not found by going up from it, as on the platform.
import { createHash } from 'node:crypto'
import { cp, link, mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import {
  type FunctionSettings,
  functionNames,
  functionSettings,
  readPlatformSettings,
} from '../../service/server/platform-settings.js'

export interface BuiltFunctions {
  /** Holds `<name>.func` for each function, and `static`. */
  directory: string
  functions: string[]
  milliseconds: number
}

const usualPlace = () => join(tmpdir(), `handoff-functions-${userInfo().uid}`)

export async function buildFunctions(root: string, into = usualPlace()): Promise<BuiltFunctions> {
  const started = Date.now()
  const [settings, functions] = await Promise.all([readPlatformSettings(root), functionNames(root)])
  const directory = join(into, await fingerprint(root))
  await mkdir(into, { recursive: true, mode: 0o700 })
  if (!(await exists(directory)) && (await mine(directory))) {
    const making = `${directory}.making`
    const lock = `${directory}.lock`
    const touching = setInterval(() => void utimes(lock, new Date(), new Date()).catch(() => undefined), touchMs)
    try {
      await rm(making, { recursive: true, force: true })
      await Promise.all(functions.map((name) => buildFunction(root, making, name, functionSettings(settings, name))))
      await cp(join(root, settings.outputDirectory), join(making, 'static'), { recursive: true })
      await rename(making, directory)
    } finally {
      clearInterval(touching)
      await rm(lock, { recursive: true, force: true })
    }
    await forgetOld(into)
  }
  return { directory, functions, milliseconds: Date.now() - started }
}

/** Deletes builds older than `keptMs`, on the assumption that no process runs them any more. */
async function forgetOld(into: string): Promise<void> {
  const before = Date.now() - keptMs
  for (const name of await readdir(into)) {
    const made = await stat(join(into, name)).catch(() => undefined)
    if (made && made.mtimeMs < before) await rm(join(into, name), { recursive: true, force: true })
  }
}

const keptMs = 6 * 60 * 60 * 1_000

/** Of several processes that want the same, one builds; the others wait for it, unless it has died. */
async function mine(directory: string): Promise<boolean> {
  const lock = `${directory}.lock`
  for (;;) {
    const taken = await mkdir(lock).then(
      () => true,
      () => false,
    )
    if (await exists(directory)) {
      if (taken) await rm(lock, { recursive: true, force: true })
      return false
    }
    if (taken) return true
    const since = await stat(lock).then(
      ({ mtimeMs }) => Date.now() - mtimeMs,
      () => 0,
    )
    if (since > untouchedMs) await rm(lock, { recursive: true, force: true })
    await pause(100)
  }
}

/** A builder touches its lock this often. A lock that was not touched for much longer belongs to a process that died. */
const touchMs = 2_000
const untouchedMs = 60_000

const exists = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  )

interface Built {
  output: { files: Record<string, { type: string; fsPath?: string; data?: Uint8Array | string }>; handler: string }
}

/** One function, by the platform's builder. */
export async function buildFunction(
  root: string,
  out: string,
  name: string,
  settings: FunctionSettings,
): Promise<void> {
  process.env['VERCEL_INSTALL_COMPLETED'] = '1'
  const [{ build }, { glob }] = await Promise.all([
    import('@vercel/node') as unknown as Promise<{ build(options: object): Promise<Built> }>,
    import('@vercel/build-utils'),
  ])
  const files = await glob('{api,dist}/**', root)
  const more = await glob('{package.json,tsconfig.json}', root)
  const { output } = await build({
    files: { ...files, ...more },
    entrypoint: `${name}.ts`,
    workPath: root,
    repoRootPath: root,
    config: {
      zeroConfig: true,
      ...(settings.excludeFiles === undefined ? {} : { excludeFiles: settings.excludeFiles }),
    },
    meta: { skipDownload: true },
  })
  const folder = join(out, `${name}.func`)
  for (const [path, file] of Object.entries(output.files)) {
    await place(join(folder, path), file)
  }
  const config = { handler: output.handler, launcherType: 'Nodejs', ...settings }
  await writeFile(join(folder, '.vc-config.json'), JSON.stringify(config, null, 2))
}

async function place(path: string, file: Built['output']['files'][string]): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  if (file.fsPath === undefined) return writeFile(path, file.data ?? '')
  // The same bytes under another name; a copy where the file system cannot.
  await link(file.fsPath, path).catch(() => cp(file.fsPath!, path))
}

/** What a build depends on besides the sources. */
const single = [
  ...['vercel.json', 'package.json', 'tsconfig.json', 'package-lock.json', 'dist/sandbox-search.js'],
  'src/emulators/vercel/build.ts',
]

async function fingerprint(root: string): Promise<string> {
  const hash = createHash('sha256')
  for (const path of single) {
    hash.update(`${path}\n`).update(await readFile(join(root, path)).catch(() => ''))
  }
  for (const folder of ['api', 'src/handoff', 'src/service', 'dist/web']) {
    const names = (await readdir(join(root, folder), { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map((entry) => relative(root, join(entry.parentPath, entry.name)))
      .sort()
    for (const name of names) hash.update(`${name}\n`).update(await readFile(join(root, name)))
  }
  return hash.digest('hex').slice(0, 16)
}
