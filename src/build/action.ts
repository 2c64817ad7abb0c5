// Builds the Action: the main step, the post step, and chunks that load on demand. They run without node_modules, so all they need is in the bundle
// or beside it.
import { readFile, writeFile } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { build, type Plugin } from 'esbuild'
import { bundling, shippedFiles } from './esbuild-options.js'
import { collectLicences } from './licenses.js'

const maximumBytes = 1_500_000

export async function buildAction(root: string, dist: string): Promise<void> {
  const { metafile } = await build({
    ...bundling,
    absWorkingDir: root,
    entryPoints: { index: 'src/action/main.ts', post: 'src/action/post.ts' },
    outdir: dist,
    target: 'node24',
    plugins: [importDirectly(root), globalFetch],
  })
  const bytes = Object.values(metafile.outputs).reduce((sum, output) => sum + output.bytes, 0)
  if (bytes > maximumBytes) throw new Error(`The Action has ${bytes} bytes of code; ${maximumBytes} are allowed.`)
  await Promise.all([
    writeFile(join(dist, 'package.json'), '{ "type": "module" }\n'),
    writeLicences(root, dist, shippedFiles(metafile)),
  ])
}

/**
 * `src/handoff/index.ts` exports the whole product, and esbuild would bundle all of it for one import. So imports from the index become imports from
 * the exporting files, and those are marked free of side effects.
 *
 * GitHub's packages are free of side effects too, but do not declare it. Unmarked, they would add three HTTP clients and the GitHub API client.
 */
function importDirectly(root: string): Plugin {
  const context = join(root, 'src', 'handoff') + sep
  const action = join(root, 'src', 'action') + sep
  const fromGitHub = `${sep}${join('node_modules', '@actions')}${sep}`
  const isQuiet = (path: string) => path.startsWith(context) || path.includes(fromGitHub)
  return {
    name: 'only what is used',
    setup({ onLoad, onResolve, resolve }) {
      onResolve({ filter: /^(?:\.|@actions\/)/ }, async (asked) => {
        if (asked.pluginData === 'seen' || asked.kind === 'entry-point') return undefined
        // Imports within other packages are left to esbuild: resolving them again would take ten times as long as the bundle.
        if (asked.path.startsWith('.') && !isQuiet(asked.importer) && !asked.importer.startsWith(action))
          return undefined
        const { importer, namespace, resolveDir, kind } = asked
        const found = await resolve(asked.path, { importer, namespace, resolveDir, kind, pluginData: 'seen' })
        return isQuiet(found.path) ? { ...found, sideEffects: false } : undefined
      })
      onLoad({ filter: /[/\\]src[/\\]action[/\\][a-z-]+\.ts$/ }, async ({ path }) => {
        const [text, publicInterface] = await Promise.all([
          readFile(path, 'utf8'),
          readFile(join(context, 'index.ts'), 'utf8'),
        ])
        return { contents: directImports(text, publicInterface), loader: 'ts' }
      })
    },
  }
}

function directImports(text: string, publicInterface: string): string {
  const rooms = new Map<string, string>()
  for (const [, names = '', file = ''] of publicInterface.matchAll(
    /export (?:type )?\{([^}]*)\} from '\.\/([^']+)'/g,
  )) {
    for (const name of namesIn(names))
      rooms.set(name.shown, `import { ${name.own} as ${name.shown} } from '../handoff/${file}'`)
  }
  return text.replace(/^import \{([^}]*)\} from '\.\.\/handoff\/index\.js'/gm, (_, names: string) =>
    namesIn(names)
      .filter((name) => !name.isType)
      .map(({ own }) => {
        const statement = rooms.get(own)
        if (statement === undefined) throw new Error(`src/handoff/index.ts does not export ${own}.`)
        return statement
      })
      .join(';'),
  )
}

function namesIn(list: string) {
  const entries = list.split(',').map((entry) => entry.trim())
  return entries
    .filter((entry) => entry !== '')
    .map((entry) => {
      const [own = '', shown = own] = entry.replace(/^type /, '').split(' as ')
      return { own, shown, isType: entry.startsWith('type ') }
    })
}

const opaqueImport = /return await import\(\s*\/\* webpackIgnore: true \*\/\s*\/\* @vite-ignore \*\/\s*module\s*\);/

/**
 * The e2b package looks for another HTTP client in nearby node_modules at run time, and would ignore the runner's proxy. The bundle removes that
 * lookup. Then e2b uses the global `fetch`, which the Action configures for the proxy, and never loads code from the job's workspace.
 */
const globalFetch: Plugin = {
  name: 'global fetch',
  setup({ onLoad }) {
    onLoad({ filter: /node_modules[/\\]e2b[/\\]dist[/\\]index\.mjs$/ }, async ({ path }) => {
      return { contents: withoutOpaqueImport(await readFile(path, 'utf8')), loader: 'js' }
    })
  },
}

/** Stops the build when the package's code does not match. */
export function withoutOpaqueImport(text: string): string {
  if (text.match(opaqueImport) === null || text.split('webpackIgnore').length !== 3) {
    throw new Error(
      'The e2b package loads its HTTP client in another way than before: look at it, and change this plugin.',
    )
  }
  return text.replace(opaqueImport, "throw new Error('not in the bundle: ' + module);")
}

// ── beside the code ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

async function writeLicences(root: string, dist: string, shipped: string[]): Promise<void> {
  await writeFile(join(dist, 'licenses.txt'), await collectLicences(root, 'The Action', shipped))
}
