// Checks that no regular expression of the product takes more than linear time: repository text, questions and replies of models are hostile.
//
// `recheck` decides by automata where it can. Where it cannot (lookaround, large counts), it searches for an attack, and only an exponential one
// counts: its search takes a large constant factor for a polynomial. The check finds literals in the source, and expressions that modules
// of the domain and the sandbox programs build from parts when they are loaded.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { mapConcurrent } from '../handoff/util/map-concurrent.js'

export interface Expression {
  place: string
  source: string
  flags: string
}

interface SlowExpression extends Expression {
  problem: string
}

const folders = ['src/action', 'src/handoff', 'src/service', 'web']
/** Modules without effects of their own, so that loading them only builds what they export. */
const loadable = ['src/handoff/domain', 'src/handoff/sandbox/program/search', 'src/handoff/sandbox/program/survey']

export async function collectExpressions(root: string): Promise<Expression[]> {
  const all = [...(await collectLiterals(root)), ...(await collectBuilt(root))]
  return [...new Map(all.map((one) => [`/${one.source}/${one.flags}`, one])).values()]
}

export async function collectLiterals(root: string): Promise<Expression[]> {
  const { parseSync } = await import('vite')
  return folders
    .flatMap((folder) => typescriptFiles(root, folder))
    .flatMap((path) => {
      const text = readFileSync(join(root, path), 'utf8')
      const { program } = parseSync(path, text)
      return literalsIn(program).map(({ pattern, flags, start }) => ({
        place: `${path}:${text.slice(0, start).split('\n').length}`,
        source: pattern,
        flags,
      }))
    })
}

function typescriptFiles(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts'))
    .map((path) => `${folder}/${path}`)
    .toSorted()
}

interface Literal {
  pattern: string
  flags: string
  start: number
}

function literalsIn(node: unknown): Literal[] {
  if (Array.isArray(node)) return node.flatMap(literalsIn)
  if (!node || typeof node !== 'object') return []
  const { regex, start } = node as { regex?: { pattern: string; flags: string }; start?: number }
  if (regex && start !== undefined) return [{ ...regex, start }]
  return Object.values(node).flatMap(literalsIn)
}

/** What `new RegExp` is given while the modules load. */
async function collectBuilt(root: string): Promise<Expression[]> {
  const built: Expression[] = []
  const native = globalThis.RegExp
  let place = ''
  globalThis.RegExp = new Proxy(native, {
    construct: (target, [source, flags]: [string | RegExp, string?]) => {
      const made = new target(source, flags)
      built.push({ place, source: made.source, flags: made.flags })
      return made
    },
  })
  try {
    for (const path of loadable.flatMap((folder) => typescriptFiles(root, folder))) {
      place = path
      await import(pathToFileURL(join(root, path)).href)
    }
  } finally {
    globalThis.RegExp = native
  }
  if (built.length === 0) throw new Error('No module built an expression: they were loaded before this check.')
  return built
}

const automatonTimeout = 3_000
const attackTimeout = 10_000
const atOnce = 2

export async function findSlowExpressions(expressions: readonly Expression[]): Promise<SlowExpression[]> {
  const { check } = await import('recheck')
  const open = expressions.filter(({ source }) => hasOpenRepetition(source))
  const found = await mapConcurrent(atOnce, open, async (one) => {
    const flags = one.flags.replace(/[dv]/g, '')
    const decided = await check(one.source, flags, { checker: 'automaton', timeout: automatonTimeout })
    if (decided.status === 'safe') return []
    if (decided.status === 'vulnerable') return [{ ...one, problem: decided.complexity.summary }]
    const searched = await check(one.source, flags, { checker: 'fuzz', timeout: attackTimeout })
    const attacked = searched.status === 'vulnerable' && searched.complexity.type === 'exponential'
    return attacked ? [{ ...one, problem: searched.complexity.summary }] : []
  })
  return found.flat()
}

/** Where every repetition has a limit, a match has a greatest length, and the search takes linear time. */
function hasOpenRepetition(source: string): boolean {
  const bare = source.replace(/\\./g, 'x').replace(/\[[^\]]*\]/g, 'x')
  return /[*+]|\{\d+,\}/.test(bare)
}
