// The quick start of docs/action.md, from the shipped dist, on an E2B account that has no template yet; then the next push on that account.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { type Publisher, startPublisher } from '../../src/emulators/drive9/publisher.js'
import { type ActionStack, root, startActionStack } from './kit.js'

let stack: ActionStack
let publisher: Publisher

beforeAll(async () => {
  publisher = await startPublisher()
  stack = await startActionStack({
    files: [{ 'README.md': '# Tools\n' }, { 'src/token.ts': 'export const age = 3600\n' }],
    clouds: { sandboxes: { templates: [], buildMilliseconds: 0 } },
  })
})

afterAll(async () => {
  await stack?.close()
  await publisher?.close()
})

/** The inputs of the workflow in docs/action.md. Its secrets are the keys of the emulators, which have addresses and a model of their own. */
async function quickStart(): Promise<Record<string, string>> {
  const text = await readFile(join(root, 'docs/action.md'), 'utf8')
  const [, yaml = ''] = /## Quick start[\s\S]*?```yaml\n([\s\S]*?)```/.exec(text) ?? []
  const workflow = parse(yaml) as { jobs: Record<string, { steps: { with: Record<string, string> }[] }> }
  const inputs = Object.values(workflow.jobs)[0]!.steps[0]!.with
  const { settings } = stack.clouds
  const filled = Object.entries(inputs).map(([name, value]) => [
    name,
    value.replace(/\$\{\{ secrets\.(\w+) \}\}/, (_, secret: string) => settings[secret]!),
  ])
  return {
    ...Object.fromEntries(filled),
    'e2b-api-url': settings['E2B_API_URL']!,
    'e2b-sandbox-url': settings['E2B_SANDBOX_URL']!,
    'drive9-server': settings['DRIVE9_SERVER']!,
    'drive9-binary-url': publisher.settings.DRIVE9_BINARY_URL,
    'llm-base-url': settings['LLM_BASE_URL']!,
    'llm-model': settings['LLM_MODEL']!,
  }
}

/** The pin makes another template, which the account does not have yet. */
const pinned = async () => ({ ...(await quickStart()), 'drive9-binary-sha256': publisher.sha256 })

test('a sandbox of base whose network cannot be narrowed again ends the run, and is destroyed', async () => {
  const fault = { kind: 'answer', status: 500, body: '{}' } as const
  const takeBack = stack.clouds.sandboxes.rule({ method: 'PUT', path: /\/network$/, fault })
  // A commit that no other test summarised needs a sandbox.
  const sha = await stack.repository.commit({ 'src/pin.ts': 'export const pin = 1\n' })
  const step = await stack.step({ event: stack.push({ sha }), inputs: await pinned() })
  takeBack()
  expect(step).toMatchObject({ code: 1, errors: [expect.stringContaining('Preparing sandbox')] })
  expect(stack.clouds.sandboxes.sandboxes.at(-1)).toMatchObject({ template: 'base', end: 'killed' })
})

test('the first push succeeds without a template, says what that cost, and the next push starts from the template', async () => {
  const inputs = await quickStart()
  const before = stack.clouds.sandboxes.sandboxes.length
  const first = await stack.step({ event: stack.push({ sha: stack.repository.commits[0]! }), inputs })
  expect(first).toMatchObject({ code: 0, errors: [] })
  const log = first.lines.join('\n')
  expect(log).toMatch(/has no template handoff-[0-9a-f]{12} yet\. Preparing a sandbox from base took \d+\.\d s\./)
  expect(log).toMatch(/E2B is building the template handoff-[0-9a-f]{12} now/)
  expect(log).toContain(`The sandbox has drive9 local (sha256 ${publisher.sha256}).`)
  const handoff = JSON.parse(await readFile(first.outputs['handoff-file']!, 'utf8'))
  expect(handoff).toMatchObject({
    sandbox: { template: 'base' },
    drive9: { version: 'local', sha256: publisher.sha256 },
  })

  const second = await stack.step({ event: stack.push({ sha: stack.repository.commits[1]! }), inputs })
  expect(second).toMatchObject({ code: 0, errors: [] })
  expect(second.lines.join('\n')).not.toContain('base')
  const [prepared, fromTemplate, ...others] = stack.clouds.sandboxes.sandboxes.slice(before)
  expect(others).toEqual([])
  expect(prepared).toMatchObject({ template: 'base', end: 'killed' })
  expect(fromTemplate!.template).toMatch(/^handoff-[0-9a-f]{12}$/)
  const built = stack.clouds.sandboxes.templates.find(({ name }) => name === fromTemplate!.template)
  expect(built!.builds).toHaveLength(1)
})
