// Tokens by a rule of thumb, near what the margin for an unknown model gives: to load the real vocabulary takes longer than a small walk, and how
// it counts has tests of its own. What runs as a program (the Action, the demo, the functions) counts as it always does.
import type { Counting } from '../../src/handoff/clients/count-tokens.js'

export const roughly: Counting = async (text) => Math.ceil(Buffer.byteLength(text) / 2)
