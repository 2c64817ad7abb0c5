// Which services a command uses: the real one where its key is set, an emulator where it is not.
import { expect, test } from 'vitest'
import { openClouds } from '../../src/cli/resolve-clouds.js'
import { exampleModel } from '../../src/handoff/domain/model-prices.js'

test('a model key alone is enough: OpenAI answers with the example model, and everything else is local', async () => {
  await using clouds = await openClouds({ LLM_API_KEY: 'a-key' })
  const where = Object.fromEntries(clouds.introduction.map((cloud) => [cloud.name, cloud.where]))
  expect(where['model']).toBe(`${exampleModel} at api.openai.com`)
  expect(where['sandboxes']).toMatch(/^on this machine/)
  expect(where['drive9']).toMatch(/^on this machine/)
})

test('another model service has no usual model: LLM_MODEL is missing', async () => {
  const opening = openClouds({ LLM_API_KEY: 'a-key', LLM_BASE_URL: 'http://127.0.0.1:1/v1' })
  await expect(opening).rejects.toThrow('These settings are missing: LLM_MODEL.')
})
