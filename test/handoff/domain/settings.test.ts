import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type HandoffError, isHandoffError } from '../../../src/handoff/domain/errors.js'
import { parseSettings, refuseImpossibleMix, secretSettings, secretsIn } from '../../../src/handoff/domain/settings.js'
import { settingTable } from '../../../src/handoff/domain/settings-reference.js'

const least = { E2B_API_KEY: 'e', DRIVE9_API_KEY: 'd', LLM_API_KEY: 'l', LLM_MODEL: 'm' }

function refusal(work: () => unknown): ReturnType<HandoffError['toJSON']> | 'accepted' {
  try {
    work()
  } catch (error) {
    if (isHandoffError(error)) return error.toJSON()
    throw error
  }
  return 'accepted'
}

test('all that is missing is named together', () => {
  expect(refusal(() => parseSettings({ LLM_API_KEY: ' ' }))).toMatchObject({
    code: 'missing-setting',
    message: 'These settings are missing: E2B_API_KEY, DRIVE9_API_KEY, LLM_API_KEY, LLM_MODEL.',
  })
})

test('the least there can be, and what it means', () => {
  expect(parseSettings(least)).toEqual({
    sandboxes: { apiKey: 'e', binary: { url: 'https://drive9.ai/releases/drive9-linux-amd64' } },
    drive: { apiKey: 'd', server: 'https://api.drive9.ai', root: '/handoff', objectHosts: [] },
    model: { apiKey: 'l', baseUrl: 'https://api.openai.com/v1', name: 'm', contextTokens: 128_000 },
    limits: { inputTokens: 400_000, deadlineMs: 900_000 },
  })
})

test.each([
  ['DRIVE9_SERVER', 'drive.example.org'],
  ['DRIVE9_SERVER', 'https://user:password@drive.example.org'],
  ['LLM_BASE_URL', 'file:///etc'],
  ['DRIVE9_ROOT', 'relative'],
  ['DRIVE9_ROOT', '/a/../b'],
  ['LLM_CONTEXT_TOKENS', 'many'],
  ['LLM_CONTEXT_TOKENS', '-1'],
  ['HANDOFF_MAX_COST', 'free'],
  ['DRIVE9_BINARY_URL', 'drive9'],
  ['DRIVE9_BINARY_URL', 'http://drive.example.org/drive9'],
  ['DRIVE9_BINARY_SHA256', 'latest'],
])('%s=%s is refused by name', (name, text) => {
  const result = refusal(() => parseSettings({ ...least, [name]: text }))
  expect(result).toMatchObject({ code: 'invalid-input', message: expect.stringContaining(name) })
  expect(JSON.stringify(result)).not.toContain('password')
})

test('a sandbox in the cloud with anything on this machine is refused with the reason', () => {
  const reached = [{ what: 'drive9', url: 'http://127.0.0.1:9009' }]
  expect(refusal(() => refuseImpossibleMix(undefined, reached))).toMatchObject({
    code: 'invalid-input',
    message: 'A sandbox in the E2B cloud cannot reach drive9 on this machine (127.0.0.1:9009).',
  })
  expect(refusal(() => refuseImpossibleMix('https://api.e2b.app', reached))).not.toBe('accepted')
  expect(refusal(() => refuseImpossibleMix('http://127.0.0.1:3000', reached))).toBe('accepted')
  expect(refusal(() => refuseImpossibleMix(undefined, [{ what: 'drive9', url: 'https://api.drive9.ai' }]))).toBe(
    'accepted',
  )
})

test('every secret is known as one', () => {
  const environment = Object.fromEntries(settingTable.map(({ name }) => [name, `value of ${name}`]))
  const soundsSecret = settingTable.filter(({ name }) => /(?:KEY|SECRETS?|TOKEN)$/.test(name)).map(({ name }) => name)
  expect(soundsSecret.length).toBeGreaterThan(6)
  expect(secretsIn(environment)).toEqual(soundsSecret.map((name) => `value of ${name}`))
})

test('each of two secrets of webhooks is one by itself', () => {
  expect(secretsIn({ HANDOFF_WEBHOOK_SECRETS: 'the-old-one, the-new-one' })).toEqual(['the-old-one', 'the-new-one'])
})

test('.env.example names every setting with its sentence, and no value of a secret', () => {
  const text = readFileSync(join(import.meta.dirname, '../../../.env.example'), 'utf8')
  expect(settingTable.filter(({ name, example }) => secretSettings.includes(name) && example !== undefined)).toEqual([])
  for (const setting of settingTable) {
    expect(text).toContain(`# ${setting.text}`)
    expect(text).toContain(
      `\n${setting.example === undefined ? `${setting.name}=\n` : `# ${setting.name}=${setting.example}\n`}`,
    )
  }
})
