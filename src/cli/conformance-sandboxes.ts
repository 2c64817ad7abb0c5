// What handoff needs of an E2B service.
import { randomUUID } from 'node:crypto'
import type { AppContext } from '../handoff/index.js'
import { broken, type Check, type Tools } from './conformance-tools.js'

export type OpenedSandbox = Awaited<ReturnType<AppContext['ports']['sandboxes']['open']>>

interface SandboxTools extends Tools {
  sandbox: OpenedSandbox
  /** Metadata that no other sandbox has. */
  tag: { conformance: string }
}

async function runIn(sandbox: OpenedSandbox, command: string, signal: AbortSignal, options: RunSome = {}) {
  let output = ''
  const { exitCode, stderrTail } = await sandbox.run(command, {
    environment: options.environment ?? {},
    timeoutMs: 60_000,
    onOutput: (text) => {
      output += text
      options.onOutput?.(output)
    },
    signal,
  })
  return { exitCode, stderrTail, output }
}

interface RunSome {
  environment?: Record<string, string>
  onOutput?: (soFar: string) => void
}

export const openSandbox = (
  { context: { ports }, signal }: Tools,
  tag: Record<string, string>,
  lifetimeMs: number,
  options: { injectHeaders?: { host: string; headers: Record<string, string> }[] } = {},
) =>
  ports.sandboxes.open(
    { metadata: { handoff: '1', role: 'conformance', ...tag }, lifetimeMs, egress: ports.drive.hosts, ...options },
    signal,
  )

/** Waits on the port's clock, so that a test need not. */
async function isGoneWithin({ context: { ports }, signal }: Tools, tag: Record<string, string>, ms: number) {
  for (const end = ports.clock.now() + ms; ; ) {
    if ((await ports.sandboxes.find(tag, signal)).length === 0) return true
    if (ports.clock.now() >= end) return false
    await ports.clock.sleep(1_000, signal)
  }
}

const shortLifetimeMs = 5_000
/** After the end of its lifetime a sandbox may need some time to disappear from the list. */
const endingMs = 30_000

export const sandboxChecks: Check<SandboxTools>[] = [
  {
    name: 'metadata',
    meaning:
      'A sandbox whose owner died cannot be found: npm run sweep does nothing, and it costs until its lifetime ends.',
    async run({ context: { ports }, sandbox, tag, signal }) {
      const found = await ports.sandboxes.find(tag, signal)
      if (found.length !== 1 || found[0]?.id !== sandbox.id)
        throw broken(`${found.length} sandboxes were found by metadata that one sandbox has.`)
    },
  },
  {
    name: 'commands',
    meaning: 'No program of handoff can work in a sandbox.',
    async run({ sandbox, signal }) {
      const command = 'printf "%s %s" "$WORD" "$(id -u)"; echo why >&2; exit 7'
      const { exitCode, stderrTail, output } = await runIn(sandbox, command, signal, { environment: { WORD: 'said' } })
      if (exitCode !== 7) throw broken(`A command that exits with 7 ended with ${exitCode}.`)
      if (stderrTail.trim() !== 'why') throw broken('Standard error of a command did not arrive.')
      if (output !== 'said 0') throw broken(`A command did not see its environment as root: it said “${output}”.`)
    },
  },
  {
    name: 'streaming',
    meaning: 'Progress is shown only at the end, and a cancelled question keeps its sandbox working.',
    async run({ sandbox, signal }) {
      // The command waits for a file that is written when its first line arrives.
      const file = `/tmp/${randomUUID()}`
      const command = `echo first; for i in $(seq 1 100); do [ -e ${file} ] && exec echo second; sleep 0.1; done; echo alone`
      let answered: Promise<unknown> | undefined
      const { output } = await runIn(sandbox, command, signal, {
        onOutput: (soFar) => {
          if (soFar.includes('first')) answered ??= runIn(sandbox, `touch ${file}`, signal)
        },
      })
      await answered
      if (!output.includes('second')) throw broken('Output of a command arrived only when the command had ended.')
    },
  },
  {
    name: 'header rules',
    meaning:
      'The token that clones a private repository has to be inside Sandbox A. Give it a token that can only read.',
    async run(tools) {
      const {
        context: { ports },
        directory,
        signal,
      } = tools
      const token = await ports.drive.issueToken(
        { prefix: directory, operations: ['read', 'list'], lifetimeSeconds: 120, subject: 'handoff-conformance' },
        signal,
      )
      const injectHeaders = [
        { host: new URL(ports.drive.server).host, headers: { Authorization: `Bearer ${token.secret}` } },
      ]
      const sandbox = await openSandbox(tools, { conformance: randomUUID() }, 120_000, { injectHeaders })
      try {
        if (!sandbox.headersInjected) return 'The account cannot add headers to requests of a sandbox.'
        const program = `fetch(process.env.ADDRESS).then((r) => console.log(r.status), (e) => console.log(e.message))`
        const { output } = await runIn(sandbox, `node -e '${program}'`, signal, {
          environment: { ADDRESS: `${ports.drive.server}/v1/status` },
        })
        if (output.trim() !== '200')
          throw broken(`The rule was accepted, and no header was added (the request ended in ${output.trim()}).`)
      } finally {
        await Promise.all([sandbox.kill(), ports.drive.revokeToken(token.id, signal)])
      }
    },
  },
  {
    name: 'egress limits',
    meaning: 'Code in a sandbox can send what it reads to any host. Use it for repositories that you trust.',
    async run({ context: { ports }, sandbox, outside, signal }) {
      if (!sandbox.egressLimited) return 'The account cannot limit which hosts a sandbox reaches.'
      if (outside === undefined) return 'Sandboxes on this machine have its network.'
      const program = `const {hostname, port} = new URL(process.env.ADDRESS)
        const end = (word) => { console.log(word); process.exit() }
        require("node:net").connect(port || 443, hostname).setTimeout(8000, () => end("blocked"))
          .on("connect", () => end("reached")).on("error", () => end("blocked"))`
      const reach = async (address: string) =>
        (await runIn(sandbox, `node -e '${program}'`, signal, { environment: { ADDRESS: address } })).output.trim()
      const [own, other] = await Promise.all([
        reach(ports.drive.server),
        reach(`https://${outside.host}:${outside.port}`),
      ])
      if (own !== 'reached') throw broken('The sandbox does not reach the drive9 server, which its rules allow.')
      if (other !== 'blocked') throw broken(`The sandbox reached ${outside.host}, which its rules do not allow.`)
    },
  },
  {
    name: 'lifetime',
    meaning: 'A sandbox whose owner died costs money without end.',
    async run(tools) {
      const tag = { conformance: randomUUID() }
      const sandbox = await openSandbox(tools, tag, shortLifetimeMs)
      try {
        if (!(await isGoneWithin(tools, tag, shortLifetimeMs + endingMs)))
          throw broken(
            `A sandbox with a lifetime of ${shortLifetimeMs / 1_000} s is still there ${endingMs / 1_000} s later.`,
          )
      } finally {
        await sandbox.kill()
      }
    },
  },
  {
    name: 'kill',
    meaning: 'A sandbox that has done its work goes on, and costs money until its lifetime ends.',
    async run(tools) {
      const {
        context: { ports },
        sandbox,
        tag,
        signal,
      } = tools
      await sandbox.kill()
      if (!(await isGoneWithin(tools, tag, 10_000))) throw broken('A sandbox that was killed is still listed.')
      if (await ports.sandboxes.kill(sandbox.id, signal))
        throw broken('A sandbox that was killed could be killed again.')
    },
  },
]
