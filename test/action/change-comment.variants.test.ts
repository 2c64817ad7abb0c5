// The comment about a pull request, by the built Action: what it changes, what depends on it, and what it says where something is missing.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type ActionStack, startActionStack } from './kit.js'

let stack: ActionStack

const clock = (hour: number) =>
  `/** Tells the hour of the clock. */\nexport function hourOf(): number {\n  return ${hour}\n}\n`
const files = [
  {
    'src/clock.ts': clock(1),
    'src/tower.ts': "import { hourOf } from './clock.js'\n\nexport const strikes = () => hourOf() % 12\n",
    'test/clock.test.ts': "import { hourOf } from '../src/clock.js'\n\ntest('tells', () => hourOf())\n",
    'logo.png': new Uint8Array([0, 1]),
  },
  { 'docs/notes.md': 'The base branch moved on.\n' },
]

beforeAll(async () => {
  stack = await startActionStack({ files, repeated: {} })
  for (const [number, hour] of [2, 3, 4, 5, 6, 7, 8].entries()) {
    const before = await stack.repository.git('rev-parse', 'main')
    await stack.repository.git('update-ref', 'refs/heads/main', stack.repository.commits[0]!)
    const more: Record<number, Record<string, string | Uint8Array>> = {
      5: { 'src/clock.ts': clock(1), 'logo.png': new Uint8Array([0, 2]) },
      6: { 'src/alarm.ts': 'export function ring(): string {\n  return "ding"\n}\n' },
    }
    const head = await stack.repository.commit({ 'src/clock.ts': clock(hour), ...more[number] })
    heads.push(head)
    await stack.repository.git('update-ref', `refs/pull/${number + 1}/head`, head)
    await stack.repository.git('update-ref', 'refs/heads/main', before)
    stack.github.addPull(stack.onGitHub, { number: number + 1, head: { ref: 'topic', sha: head } })
  }
})
afterAll(() => stack?.close())
afterEach(() => stack.clouds.model.clearBehaviours())

const heads: string[] = []
const head = (number: number) => heads[number - 1]!

const event = (number: number, base = stack.repository.commits[1]!) => {
  const repo = { id: stack.onGitHub.id }
  const pull_request = {
    number,
    head: { sha: head(number), ref: 'topic', repo },
    base: { ref: 'main', sha: base, repo },
  }
  return stack.pull(number, head(number), { pull_request })
}
const summarise = (number: number, base?: string) => stack.step({ event: event(number, base) })
const comment = (number: number, inputs: Record<string, string> = {}, base?: string) =>
  stack.step({ event: event(number, base), inputs: { mode: 'comment', ...inputs } })
const body = (number: number) =>
  stack.github.visibleComments(stack.onGitHub, number).find((one) => one.body.startsWith('<!-- handoff:summary'))!.body

test('says what changes since the merge base, with links, and what depends on it', async () => {
  const { git, commits } = stack.repository
  // The base branch has moved on, so that its head and the pull request differ in more than the pull request changes.
  const base = await git(
    '-c',
    'user.name=t',
    '-c',
    'user.email=t@localhost',
    'commit-tree',
    `${head(3)}^{tree}`,
    '-p',
    commits[1]!,
    '-m',
    'moved on',
  )
  await git('update-ref', 'refs/heads/main', base)
  const step = await summarise(1, base)
  expect([...step.errors, ...step.warnings]).toEqual([])
  expect((await comment(1, {}, base)).errors).toEqual([])
  const text = body(1)
  expect(text).toContain(`### What this pull request changes, at \`${head(1).slice(0, 7)}\``)
  expect(text).toMatch(
    new RegExp(
      `\`src/clock.ts\` changes in \`hourOf\`.*\\[\`src/clock.ts:2\`\\]\\(http.*/blob/${head(1)}/src/clock.ts#L2\\)`,
    ),
  )
  expect(text).toMatch(/- \[`src\/tower\.ts:3`\]\(.*\) uses `hourOf` of `src\/clock\.ts`/)
  expect(text).toMatch(/- \[`test\/clock\.test\.ts:3`\]\(.*\) tests `hourOf` of `src\/clock\.ts`/)
  expect(text).toContain('<summary>1 file, +1 −1 lines</summary>')
  expect(text).not.toContain('notes.md')
  expect(text).toContain('`/ask What depends on hourOf of clock.ts?`')
  expect(text).toMatch(/Written by `[^`]+`; every link was checked\. .*\[The whole summary\]\(http/)
  expect(unfolded(text).length).toBeLessThan(30)
})

const unfolded = (text: string) =>
  text
    .replace(/<details>[\s\S]*?<\/details>/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '')

test('leaves out the parts that an author switches off, and names a part that it does not know', async () => {
  await summarise(7)
  await comment(7)
  expect(body(7)).toContain('`src/alarm.ts` is new and defines `ring` (+3 −0)')
  await comment(7, { 'comment-parts': 'files, cost' })
  expect(body(7)).toMatch(/<summary>\d files?, /)
  expect(body(7)).not.toContain('depends on what changes')
  expect(body(7)).not.toContain('/ask')
  const step = await comment(7, { 'comment-parts': 'files, everything' })
  expect(step.errors).toEqual([expect.stringContaining('comment-parts has “everything”, which is none of sentences,')])
})

test('a base that is gone is said, and the run is sealed', async () => {
  const gone = 'd'.repeat(40)
  const step = await summarise(2, gone)
  expect(step.errors).toEqual([])
  expect(step.lines.join('\n')).toContain('What pull request 2 changes is not described')
  expect((await comment(2, {}, gone)).errors).toEqual([])
  expect(body(2)).toContain('The change is not described, because GitHub did not name the merge base')
})

test('a run that was made without the base says how to describe the change', async () => {
  await summarise(3, 'd'.repeat(40))
  await comment(3)
  expect(body(3)).toContain('Run the summary with force: true for a description.')
})

test('without words of the model the ripples stand, and the comment says why', async () => {
  stack.clouds.model.setBehaviour({ kind: 'forge', how: 'path' }, { task: 'change' })
  await summarise(4)
  await comment(4)
  expect(body(4)).toContain('The model cited no line for what it said, so nothing of it is shown.')
  expect(body(4)).toContain('src/tower.ts:3')
  expect(body(4)).not.toContain('every link was checked')
})

test('hostile words of the model become harmless', async () => {
  const quote = `[[src/clock.ts:3 "return 6"]]`
  stack.clouds.model.setBehaviour(
    {
      kind: 'say',
      text: `Thanks @octocat, see https://evil.example/x and <img src=x> ${quote}\n? @octocat \`</details>\` now`,
    },
    { task: 'change' },
  )
  await summarise(5)
  await comment(5)
  expect(body(5)).toContain('Thanks')
  expect(body(5)).not.toMatch(/(?<!`)@octocat(?!.*`)/)
  expect(body(5)).not.toContain('](https://evil')
  expect(body(5)).not.toContain('<img')
})

test('a change of binary files only says so', async () => {
  await summarise(6)
  await comment(6)
  expect(body(6)).toContain('only binary, generated or moved files')
  expect(body(6)).toContain('| binary |')
})
