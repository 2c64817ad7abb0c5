// One instance of the platform in a process of its own: started by `functions.ts`, told what to serve by its arguments, and with nothing in its
// environment but what the functions are to find there. Says on its channel where it listens.
import { existsSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { readPlatformSettings, settingsOf, sourceOf } from './functions-build.js'
import { type LoadedFunction, startPlatform } from './functions-platform.js'

const [root = '', built = '', port = '0', seconds = '', compileCache = ''] = process.argv.slice(2)
if (compileCache !== '') enableCompileCache(compileCache)
const settings = await readPlatformSettings(root)
const fromSources = built === ''
const loaded = new Map<string, Promise<LoadedFunction>>()

function fileOf(name: string): string {
  return fromSources ? join(root, sourceOf(name)) : join(built, `${name}.func`, `${name}.js`)
}

async function loadFile(file: string): Promise<LoadedFunction> {
  const module = (await import(pathToFileURL(file).href)) as { default: LoadedFunction }
  return module.default
}

const platform = await startPlatform({
  settings,
  staticFolder: fromSources ? join(root, settings.outputDirectory) : join(built, 'static'),
  port: Number(port),
  async load(name) {
    const file = fileOf(name)
    if (!existsSync(file) || name.split('/').some((part) => part.startsWith('_'))) return undefined
    const found = loaded.get(name) ?? loadFile(file)
    loaded.set(name, found)
    return found
  },
  settingsOf: (name) => ({
    ...settingsOf(settings, name),
    ...(seconds === '' ? {} : { maxDuration: Number(seconds) }),
  }),
})

/** What is still held: the heap, and the bytes beside it, after everything dead was collected. */
function held(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

process.on('message', (message) => {
  if (message === 'state?') process.send?.({ pending: platform.pending(), memory: process.memoryUsage().rss })
  if (message === 'held?') process.send?.({ held: held() })
})
process.on('disconnect', () => process.exit(0))
process.send?.({ url: platform.url })
