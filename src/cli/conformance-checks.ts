// Which promises that handoff stands on hold on an E2B service and a drive9 server. Each check uses the same clients as the product.
import { randomUUID } from 'node:crypto'
import { ignoreFailure, isHandoffError } from '../handoff/index.js'
import { driveChecks } from './conformance-drive.js'
import { type OpenedSandbox, openSandbox, sandboxChecks } from './conformance-sandboxes.js'
import type { Check, Tools } from './conformance-tools.js'
import { smokeTest } from './smoke-test.js'

export interface CheckResult {
  name: string
  /** `absent`: the service does not offer it, and handoff works without it. */
  outcome: 'holds' | 'fails' | 'absent' | 'not checked'
  seconds: number
  /** What was seen, where it does not hold. */
  problem?: string
  /** What that means for the operator. */
  meaning?: string
}

const together: Check = {
  name: 'mount and drain',
  meaning:
    'No commit can be stored or read. npm run smoke shows the steps; a sandbox needs /dev/fuse and the drive9 program.',
  async run({ context, signal }) {
    const lines: string[] = []
    const line = (text = '') => void lines.push(text)
    await smokeTest(context, { line, heading: line, event: () => undefined, settle: () => undefined }, signal)
  },
}

const creation = { name: 'create', meaning: 'Nothing works without a sandbox.' }

export const checkNames = [
  ...driveChecks.map(({ name }) => name),
  creation.name,
  ...sandboxChecks.map(({ name }) => name),
  together.name,
]

/** Reports each check as it ends, in the order of `checkNames`. */
export async function runChecks(
  tools: Tools,
  report: (result: CheckResult) => void,
  wanted: readonly string[] = checkNames,
): Promise<CheckResult[]> {
  const isWanted = ({ name }: { name: string }) => wanted.includes(name)
  const results: CheckResult[] = []
  const add = (result: CheckResult) => {
    results.push(result)
    report(result)
  }
  try {
    for (const check of driveChecks.filter(isWanted)) add(await judge(check, () => check.run(tools), tools.signal))
    const inSandbox = sandboxChecks.filter(isWanted)
    if (inSandbox.length > 0 || isWanted(creation)) await checkSandboxes(tools, inSandbox, add)
    if (isWanted(together)) add(await judge(together, () => together.run(tools), tools.signal))
  } finally {
    const { drive } = tools.context.ports
    await drive.remove(tools.directory, { recursive: true, signal: AbortSignal.timeout(10_000) }).catch(ignoreFailure)
  }
  return results
}

async function checkSandboxes(
  tools: Tools,
  checks: typeof sandboxChecks,
  add: (result: CheckResult) => void,
): Promise<void> {
  const tag = { conformance: randomUUID() }
  let sandbox: OpenedSandbox | undefined
  const open = async () => {
    sandbox = await openSandbox(tools, tag, 300_000)
  }
  add(await judge(creation, open, tools.signal))
  try {
    for (const check of checks) {
      if (sandbox === undefined) add({ name: check.name, outcome: 'not checked', seconds: 0 })
      else add(await judge(check, () => check.run({ ...tools, sandbox: sandbox!, tag }), tools.signal))
    }
  } finally {
    await sandbox?.kill().catch(ignoreFailure)
  }
}

async function judge(
  { name, meaning }: { name: string; meaning: string },
  run: () => Promise<unknown>,
  signal: AbortSignal,
): Promise<CheckResult> {
  const start = performance.now()
  const seconds = () => (performance.now() - start) / 1_000
  try {
    const absent = await run()
    if (typeof absent !== 'string') return { name, outcome: 'holds', seconds: seconds() }
    return { name, outcome: 'absent', seconds: seconds(), problem: absent, meaning }
  } catch (error) {
    if (!isHandoffError(error) || signal.aborted) throw error
    return { name, outcome: 'fails', seconds: seconds(), problem: error.message, meaning }
  }
}
