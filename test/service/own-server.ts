// A deployment whose functions a server of its own serves, in a process, for the tests of a file.
import { afterAll, afterEach, beforeAll } from 'vitest'
import { type ServerProcess, startServerProcess } from '../support/server-process.js'
import { type Deployment, deploy, name } from './kit.js'

interface OwnServer {
  here: Deployment
  server: ServerProcess
  /** A further process. It ends with the file's tests. */
  another(environment?: Record<string, string>): Promise<ServerProcess>
  /** The body of a question about the run. */
  ask(question: string): { repository: string; run: string; question: string }
}

/** Filled before the first test, so its fields are read inside tests only. */
export function ownServer(): OwnServer {
  const more: ServerProcess[] = []
  const own = {} as OwnServer
  own.another = async (environment = {}) => {
    const started = await startServerProcess({ ...own.here.environment, ...environment })
    more.push(started)
    return started
  }
  own.ask = (question) => ({ repository: name, run: own.here.run.run, question })
  beforeAll(async () => {
    own.here = await deploy({ quickFinds: true, withoutFunctions: true })
    own.server = await own.another()
  }, 200_000)
  afterEach(() => own.here.stack.clouds.model.clearRules())
  afterAll(async () => {
    await Promise.all(more.map((one) => one[Symbol.asyncDispose]()))
    await own.here?.close()
  })
  return own
}
