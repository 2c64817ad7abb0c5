// What `asking-child.ts` starts: asks the question in its environment with the house as production wires it.
import { readFileSync } from 'node:fs'
import { answerQuestion, createContext, parseSettings } from '../../src/handoff/index.js'

const program = readFileSync(process.argv[2] ?? '', 'utf8')
const context = createContext(parseSettings(process.env), { program: async () => program, emit: () => undefined })
context.ports.drive = { ...context.ports.drive, server: process.env['INSIDE'] ?? '' }
await answerQuestion(JSON.parse(process.env['ASK'] ?? '{}'), context, AbortSignal.timeout(30_000)).catch(
  () => undefined,
)
// Whoever started us wants to kill us; ending by ourselves would be no kill.
setInterval(() => undefined, 1_000)
