// The Action as it is shipped: a program for the job's step, one for the step after the job, and chunks that are loaded when an event needs them.
// Both must run from a folder without node_modules, so everything they use is in the bundle or stands beside it.
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
 * The house has one inner door, and the bundler would bring the whole house to whoever uses one word of it. So an import from the door becomes
 * imports from the rooms behind it, and a room's file brings what is used of it: none of them does anything by being loaded.
 *
 * The same is true of GitHub's packages, which do not say so themselves: for a line in the log they would bring two HTTP clients, and for the
 * name of an event a third and all of GitHub's API, to steps that end after a few milliseconds.
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
        // What other packages import of themselves is the bundler's own affair: asking it a second time takes ten times as long as the bundle.
        if (asked.path.startsWith('.') && !isQuiet(asked.importer) && !asked.importer.startsWith(action))
          return undefined
        const { importer, namespace, resolveDir, kind } = asked
        const found = await resolve(asked.path, { importer, namespace, resolveDir, kind, pluginData: 'seen' })
        return isQuiet(found.path) ? { ...found, sideEffects: false } : undefined
      })
      onLoad({ filter: /[/\\]src[/\\]action[/\\][a-z-]+\.ts$/ }, async ({ path }) => {
        const [text, door] = await Promise.all([readFile(path, 'utf8'), readFile(join(context, 'index.ts'), 'utf8')])
        return { contents: directImports(text, door), loader: 'ts' }
      })
    },
  }
}

function directImports(text: string, door: string): string {
  const rooms = new Map<string, string>()
  for (const [, names = '', room = ''] of door.matchAll(/export (?:type )?\{([^}]*)\} from '\.\/([^']+)'/g)) {
    for (const name of namesIn(names))
      rooms.set(name.shown, `import { ${name.own} as ${name.shown} } from '../handoff/${room}'`)
  }
  return text.replace(/^import \{([^}]*)\} from '\.\.\/handoff\/index\.js'/gm, (_, names: string) =>
    namesIn(names)
      .filter((name) => !name.isType)
      .map(({ own }) => {
        const statement = rooms.get(own)
        if (statement === undefined) throw new Error(`The inner door of the house does not have ${own}.`)
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
 * The e2b package looks for another HTTP client at run time, in whatever folder of packages is near, and ignores the runner's proxy when it
 * finds none of its own. In the bundle it is told that there is none: then it uses the global `fetch`, which the Action points to the proxy, and
 * no code from a job's workspace is ever loaded.
 */
const globalFetch: Plugin = {
  name: 'global fetch',
  setup({ onLoad }) {
    onLoad({ filter: /node_modules[/\\]e2b[/\\]dist[/\\]index\.mjs$/ }, async ({ path }) => {
      return { contents: withoutOpaqueImport(await readFile(path, 'utf8')), loader: 'js' }
    })
  },
}

/** Stops the build when the package does it in another way than the one we know. */
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
