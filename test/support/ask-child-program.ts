// The child process of ask-in-child-process.ts: asks the question in its environment, with a context wired as in production.
import { readFileSync } from 'node:fs'
import { answerQuestion, createContext, parseSettings } from '../../src/handoff/index.js'

const program = readFileSync(process.argv[2] ?? '', 'utf8')
const context = createContext(parseSettings(process.env), { program: async () => program, emit: () => undefined })
context.ports.drive = { ...context.ports.drive, server: process.env['INSIDE'] ?? '' }
await answerQuestion(JSON.parse(process.env['ASK'] ?? '{}'), context, AbortSignal.timeout(30_000)).catch(
  () => undefined,
)
// The parent process kills this one; it must not exit by itself.
setInterval(() => undefined, 1_000)
