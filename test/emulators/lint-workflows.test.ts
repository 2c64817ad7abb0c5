// Both linters must be able to fail: each broken workflow is reported by the linter that it is for. That ours are good is what `npm run check` says.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import {
  findWorkflows,
  type Linter,
  lintRepository,
  makeLinter,
  snippetsIn,
} from '../../src/emulators/lint-workflows.js'

const root = join(import.meta.dirname, '../..')
const action = readFileSync(join(root, 'action.yml'), 'utf8')
let linter: Linter

beforeAll(async () => {
  linter = await makeLinter('octo/handoff', action)
})

const job = (...lines: string[]) =>
  ['on: push', 'jobs:', '  job:', '    runs-on: ubuntu-latest', ...lines.map((line) => `    ${line}`)].join('\n')
const using = (uses: string, ...inputs: string[]) =>
  job('steps:', `  - uses: ${uses}`, '    with:', ...inputs.map((input) => `      ${input}: x`))
const keys = ['e2b-api-key', 'drive9-api-key', 'llm-api-key', 'llm-model']

const linted = async (text: string, file = 'examples/x.yml') =>
  (await linter.lint({ file, line: 1, text })).map(({ linter: by, place, message }) => `${by} ${place} ${message}`)

test('a workflow without a fault has no problem', async () => {
  expect(await linted(using('octo/handoff@v1', ...keys))).toEqual([])
  expect(await linted(using('./', ...keys))).toEqual([])
  expect(await linted(using('actions/checkout@v5', 'anything'))).toEqual([])
})

test.each([
  [
    'an input that action.yml has not',
    using('octo/handoff@v1', ...keys, 'no-such'),
    ["github examples/x.yml:12 Invalid action input 'no-such'"],
  ],
  [
    '… in a step that uses ./',
    using('./', ...keys, 'no-such'),
    ["github examples/x.yml:12 Invalid action input 'no-such'"],
  ],
  [
    'an unknown key',
    job('steps:', '  - run: x', '    sell: bash'),
    ["github examples/x.yml:7 Unexpected value 'sell'", 'actionlint examples/x.yml:7'],
  ],
  [
    'an unknown property of an expression',
    job('steps:', '  - run: x', '    if: github.evnt'),
    ['actionlint examples/x.yml:7'],
  ],
  [
    'an unknown permission',
    job('permissions:', '  everything: write', 'steps:', '  - run: x'),
    ['github examples/x.yml:6', 'actionlint examples/x.yml:6'],
  ],
  ['no job', 'on: push', ['github examples/x.yml:1', 'actionlint examples/x.yml:1']],
  ['text that is not YAML', 'on: [', ['github examples/x.yml:1', 'actionlint examples/x.yml:1']],
])('%s is reported', async (_what, text, expected) => {
  const found = await linted(text)
  for (const one of expected) expect(found).toContainEqual(expect.stringContaining(one))
})

test('a fault in action.yml is reported', async () => {
  expect(await linted(action, 'action.yml')).toEqual([])
  expect(await linted(action.replace('using: node24', 'using: node10'), 'action.yml')).not.toEqual([])
})

test('workflows inside Markdown are found, with their lines, and steps get a job', async () => {
  const workflow = using('octo/handoff@v1', ...keys, 'no-such')
  const steps = ['- uses: octo/handoff@v1', '  with:', '    wrong: x'].join('\n')
  const blocks = [workflow, steps, 'services:\n  web: x'].map((text) => `\`\`\`yaml\n${text}\n\`\`\``)
  const found = snippetsIn('README.md', `# Title\n\n${blocks.join('\n\n')}\n`)
  const problems = (await Promise.all(found.map((one) => linter.lint(one)))).flat()
  expect(problems.filter(({ message }) => message.includes('Invalid')).map(({ place }) => place)).toEqual([
    'README.md:15',
    'README.md:21',
  ])
  expect(found).toHaveLength(2)
})

test('every workflow of the repository is linted, and has no problem', async () => {
  const files = (await findWorkflows(root)).map(({ file }) => file)
  expect(new Set(files)).toEqual(new Set([...files, 'examples/ask.yml', '.github/workflows/ci.yml', 'docs/action.md']))
  const { linted: count, problems } = await lintRepository(root)
  expect(count).toBe(files.length + 1)
  expect(problems).toEqual([])
})
