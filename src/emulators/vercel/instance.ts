// One instance of the platform in a separate process, started by `start.ts`. Its argument is the configuration (`Instance`). Its environment
// has only the variables meant for the functions. It sends its address on the IPC channel.
import { createHook } from 'node:async_hooks'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { functionSettings, readPlatformSettings } from '../../service/server/platform-settings.js'
import { currentContext, runInContext } from '../../service/server/request-context.js'
import type { ServedFunction } from '../../service/server/server.js'
import { startPlatform } from './platform.js'
import { deliveryHeader } from './queue-delivery.js'
import { type Instance, queuesVariable } from './start.js'

const { root, built, port, maxDuration, deadline } = JSON.parse(process.argv[2] ?? '{}') as Instance
const queues = takeQueues()
// Node has read it. The functions do not find it.
delete process.env['NODE_COMPILE_CACHE']
const settings = await readPlatformSettings(root)
const loaded = new Map<string, Promise<ServedFunction>>()

function fileOf(name: string): string {
  return built === undefined ? join(root, `${name}.ts`) : join(built, `${name}.func`, `${name}.js`)
}

async function loadFile(file: string): Promise<ServedFunction> {
  const module = (await import(pathToFileURL(file).href)) as { default: ServedFunction }
  return module.default
}

/** Keys are in no argument, and the functions do not find them in their environment. */
function takeQueues(): { token: string; deliveryKey: string } | undefined {
  const given = process.env[queuesVariable]
  delete process.env[queuesVariable]
  return given === undefined ? undefined : JSON.parse(given)
}

/** Of the requests that a timer, a listener or a promise still holds, and of those that are not collected yet. */
const contexts = new Set<WeakRef<object>>()

/** The platform hands a function its token by the context of the request, and lets queues alone into a function with a trigger. */
function behindPlatform(name: string, found: ServedFunction): ServedFunction {
  if (queues === undefined) return found
  const isConsumer = functionSettings(settings, name).experimentalTriggers !== undefined
  return {
    async fetch(request) {
      const delivered = request.headers.get(deliveryHeader) === queues.deliveryKey
      if (isConsumer && !delivered) return new Response('NOT_FOUND\n', { status: 404 })
      const context = currentContext()
      const own = { ...context, headers: { ...context.headers, 'x-vercel-oidc-token': queues.token } }
      contexts.add(new WeakRef(own))
      return runInContext(own, () => found.fetch(request))
    },
  }
}

const platform = await startPlatform({
  settings,
  staticFolder: built === undefined ? join(root, settings.outputDirectory) : join(built, 'static'),
  port,
  ...(deadline === undefined ? {} : { deadline }),
  async load(name) {
    const file = fileOf(name)
    if (!existsSync(file) || name.split('/').some((part) => part.startsWith('_'))) return undefined
    const found = loaded.get(name) ?? loadFile(file).then((one) => behindPlatform(name, one))
    loaded.set(name, found)
    return found
  },
  settingsOf: (name) => ({
    ...functionSettings(settings, name),
    ...(maxDuration === undefined ? {} : { maxDuration }),
  }),
})

/** What is still held after everything dead was collected: the heap and the bytes beside it, contexts of requests, and descriptors. */
function held() {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  const { heapUsed, external } = process.memoryUsage()
  for (const context of contexts) if (context.deref() === undefined) contexts.delete(context)
  return { held: heapUsed + external, requests: contexts.size, descriptors: readdirSync('/proc/self/fd').length }
}

/** Every timeout of a client or a connection is shorter. */
const longMs = 70_000
const timers = new Set<number>()
const timerWatch = createHook({
  init: (id, type, _trigger, { _idleTimeout = 0 }: { _idleTimeout?: number }) =>
    void (type === 'Timeout' && _idleTimeout > longMs && timers.add(id)),
  destroy: (id) => void timers.delete(id),
})

process.on('message', (message) => {
  if (message === 'state?') process.send?.({ pending: platform.pending(), memory: process.memoryUsage().rss })
  if (message === 'held?') process.send?.(held())
  if (message === 'timers?') {
    process.send?.({ timers: timers.size })
    timerWatch.enable()
  }
})
process.on('disconnect', () => process.exit(0))
process.send?.({ url: platform.url })
