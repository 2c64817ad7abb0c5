// The functions as they are deployed: for each, one file with what every request needs, and chunks that are loaded when there is work. A function
// of many small files, packages among them, spends most of its first request on finding and reading them.
//
// The packages are bundled as they are. The tokenizer and its data stay packages: they are large, and are read when something is counted.
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import { build, type Plugin } from 'esbuild'
import { bundling, shippedFiles } from './esbuild-options.js'
import { licencesOf } from './licenses.js'

const sources = 'src/service/functions'

/** Text by file name. */
type Files = Map<string, string>

/** Brings `<dist>/service` up to date; what is up to date already is not touched. */
export async function buildService(root: string, dist: string): Promise<void> {
  const folder = join(dist, 'service')
  const [wanted, there] = await Promise.all([bundleService(root), readFiles(folder)])
  if (isSame(wanted, there)) return
  const fresh = `${folder}-${process.pid}`
  try {
    await mkdir(fresh, { recursive: true })
    await Promise.all([...wanted].map(([name, text]) => writeFile(join(fresh, name), text)))
    await rm(folder, { recursive: true, force: true })
    await rename(fresh, folder)
  } finally {
    await rm(fresh, { recursive: true, force: true })
  }
}

/** Whoever asks waits for this one, so what its first request needs is one piece: each further one takes half a millisecond to be loaded. */
const alone = 'ask'

async function bundleService(root: string): Promise<Files> {
  const names = (await readdir(join(root, sources))).map((name) => name.replace(/\.ts$/, ''))
  const others = names.filter((name) => name !== alone)
  const bundles = await Promise.all([
    bundle(root, [alone], [inOnePiece(root, `${sources}/${alone}.ts`)]),
    bundle(root, others),
    build({ ...inDist(root), entryPoints: { server: 'src/service/server/main.ts' }, splitting: false }),
  ])
  const shipped = bundles.flatMap(({ metafile }) => shippedFiles(metafile))
  const types = names.map(
    (name) => [`${name}.d.ts`, `export { default } from '../../${sources}/${name}.js'\n`] as const,
  )
  return new Map([
    // A piece that both have is the same file.
    ...bundles.flatMap(({ outputFiles }) =>
      outputFiles.map(({ path, text }) => [basename(path), trimmed(text)] as const),
    ),
    ...types,
    ['licenses.txt', await licencesOf(root, 'The service', shipped)],
  ])
}

function bundle(root: string, names: string[], plugins: Plugin[] = []) {
  return build({
    ...inDist(root),
    entryPoints: names.map((name) => `${sources}/${name}.ts`),
    external: ['hypertok', '@hypertok/*'],
    plugins: [...plugins, platformWords(root)],
  })
}

const inDist = (root: string) =>
  ({ ...bundling, absWorkingDir: root, outdir: join(root, 'dist/service'), target: 'node22', write: false }) as const

/** The package has one entry for all that the platform offers, 25 kB of it; each file is small. What is not listed here fails the build. */
function platformWords(root: string): Plugin {
  const resolveDir = join(root, 'node_modules/@vercel/functions')
  const contents = "export { getDeadline } from './deadline.js'\nexport { waitUntil } from './wait-until.js'"
  const namespace = 'platform'
  return {
    name: 'platform words',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^@vercel\/functions$/ }, ({ path }) => ({ namespace, path }))
      onLoad({ filter: /./, namespace }, () => ({ contents, resolveDir }))
    },
  }
}

/**
 * The bundler cuts what pieces have in common into further pieces. So that nothing is cut out of what is loaded first, all that is loaded later
 * says that it uses the whole of it; that is there by then, and is not loaded again. Paths are those below the root: they become part of names, which
 * are the same wherever the repository is.
 */
function inOnePiece(root: string, entry: string): Plugin {
  const namespace = 'later'
  return {
    name: 'in one piece',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^\./ }, ({ kind, path, resolveDir }) => {
        if (kind !== 'dynamic-import') return undefined
        const file = relative(root, join(resolveDir, path.replace(/\.js$/, '.ts')))
        return { namespace, path: file.replaceAll('\\', '/') }
      })
      onLoad({ filter: /./, namespace }, ({ path }) => ({
        contents: `import './${entry}'\nexport * from './${path}'`,
        resolveDir: root,
      }))
    },
  }
}

/** Only files that ask for a module by `require` need to make one. */
function trimmed(text: string): string {
  const { js } = bundling.banner
  const rest = text.slice(js.length + 1)
  return text.startsWith(js) && !/\brequire\b/.test(rest) ? rest : text
}

async function readFiles(folder: string): Promise<Files> {
  const names = await readdir(folder).catch(() => [])
  return new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), 'utf8')] as const)),
  )
}

const isSame = (one: Files, other: Files) =>
  one.size === other.size && [...one].every(([name, text]) => other.get(name) === text)
