// Two pushes on real servers: the second one keeps the statements of the first, by what Sandbox A finds of their lines.
import { expect, test } from 'vitest'
import { decodeHandoff, encodeHandoff, encodePointer } from '../../../../src/handoff/domain/handoff-record.js'
import { artifact } from '../../../../src/handoff/domain/run.js'
import { type SummaryRecord, statementsOf } from '../../../../src/handoff/domain/summary/summary-record.js'
import { layout, type SummariseResult, summarise } from '../../../../src/handoff/index.js'
import { sha256 } from '../../../../src/handoff/store/run-store.js'
import { type LocalStack, startLocalStack } from '../../../support/local-stack.js'
import { makeRepository, type TestRepository } from '../../../support/repository.js'

const never = new AbortController().signal
const name = 'octo/tools'
const greet = [
  '/** Greets a person by name, in English. */',
  'export function greet(name: string): string {',
  '  return `Hello, $' + '{name}`',
  '}',
  '',
].join('\n')

async function open() {
  const repository = await makeRepository({
    'README.md': '# Tools\n\nTools that greet people.\n',
    'package.json': '{ "name": "tools", "scripts": { "test": "node --test" } }\n',
    'src/greet.ts': greet,
  })
  const stack = await startLocalStack({ repositories: { [name]: repository.directory } })
  const close = async () => {
    await stack.close()
    await repository[Symbol.asyncDispose]()
  }
  return { repository, stack, [Symbol.asyncDispose]: close }
}

function push(stack: LocalStack, repository: TestRepository, attempt: string): Promise<SummariseResult> {
  const commit = stack.commit(name, repository.commits.at(-1)!, 'refs/heads/main')
  return summarise({ commit, attempt, links: { permalinks: 'github' } }, stack.context, never)
}

const read = (stack: LocalStack, result: SummariseResult, path: string) =>
  stack.clouds.drive.readFile(`${result.directory}/${path}`)!.toString()
const places = (record: SummaryRecord, path: string) =>
  statementsOf(record).flatMap(({ citations }) => citations.filter((one) => one.path === path))

test('a second push moves places, asks nothing, and a third one that changes nothing keeps the bytes', async () => {
  await using place = await open()
  const { stack, repository } = place
  const first = await push(stack, repository, 'first')
  expect(places(first.statements!, 'src/greet.ts').length).toBeGreaterThan(0)
  expect(read(stack, first, artifact.summary)).toMatch(/\(https?:\/\/[^)]*\/blob\/[0-9a-f]{40}\/src\/greet\.ts#L\d/)

  repository.commits.push(await repository.commit({ 'src/greet.ts': `// Tools.\n\n${greet}` }))
  const second = await push(stack, repository, 'second')
  expect(second.handoff).toMatchObject({ basedOn: first.run, reusedPercent: 100 })
  expect(second.handoff.usage).toMatchObject({ inputTokens: 0, outputTokens: 0 })
  expect(statementsOf(second.statements!).map(({ text }) => text)).toEqual(
    statementsOf(first.statements!).map(({ text }) => text),
  )
  expect(places(second.statements!, 'src/greet.ts').map(({ from, digest }) => [from, digest])).toEqual(
    places(first.statements!, 'src/greet.ts').map(({ from, digest }) => [from + 2, digest]),
  )

  repository.commits.push(await repository.commit({ 'logo.png': new Uint8Array([137, 80, 78, 71, 0, 1]) }))
  const third = await push(stack, repository, 'third')
  expect(third.handoff.usage).toMatchObject({ inputTokens: 0 })
  for (const path of [artifact.summary, artifact.summaryRecord, artifact.notes])
    expect(read(stack, third, path)).toBe(read(stack, second, path))
}, 60_000)

test('a run of an earlier version is read, and the next push describes everything anew and says so', async () => {
  await using place = await open()
  const { stack, repository } = place
  const first = await push(stack, repository, 'first')
  await forgetStatements(stack, first)
  const again = await push(stack, repository, 'again')
  expect(again).toMatchObject({ run: first.run, reused: true })
  expect(again.statements).toBeUndefined()
  expect(again.summary).toContain('## How it is built')

  repository.commits.push(await repository.commit({ 'src/more.ts': 'export const more = 1\n' }))
  const second = await push(stack, repository, 'second')
  expect(second.handoff.basedOn).toBeUndefined()
  expect(second.handoff.usage.inputTokens).toBeGreaterThan(500)
  expect(statementsOf(second.statements!).length).toBeGreaterThan(2)
  expect(stack.events).toContainEqual({
    type: 'notice',
    text: 'The earlier run was written before sentences cited lines; everything is described anew.',
  })
}, 60_000)

/** Makes a run as earlier versions sealed it. */
async function forgetStatements(stack: LocalStack, { directory, handoff, run }: SummariseResult): Promise<void> {
  const { drive } = stack.context.ports
  const bytes = encodeHandoff({
    ...decodeHandoff(encodeHandoff(handoff)),
    artifacts: handoff.artifacts.filter(({ path }) => path !== artifact.summaryRecord && path !== artifact.notes),
  })
  const pointer = layout('/handoff', stack.commit(name, handoff.commit).repository).pointer(handoff.commit)
  await drive.write(`${directory}/${artifact.handoff}`, bytes, { signal: never })
  const { sealedAt } = handoff
  await drive.write(pointer, encodePointer({ version: 1, run, handoff: sha256(bytes), sealedAt }), { signal: never })
}
