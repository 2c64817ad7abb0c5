// The health check names what is set and cannot be read without loading the house, which reads it by rules of its own: both must agree.
import { expect, test } from 'vitest'
import { readServiceSettings } from '../../api/_settings.js'
import { isHandoffError, parseSettings } from '../../src/handoff/index.js'

const needed = { E2B_API_KEY: 'x', DRIVE9_API_KEY: 'x', LLM_API_KEY: 'x', LLM_MODEL: 'x' }
const addresses = [
  'http://127.0.0.1:1',
  'https://a.example/v1/',
  'nonsense',
  'ftp://a.example',
  'https://me:secret@a.example',
  ' ',
  '',
]
const numbers = ['0', '1', '0.5', '1e3', '-1', 'many', 'NaN', 'Infinity', ' 7 ', '']
const roots = ['/handoff', '/a/b.c/', '/', '', 'x/../y', '/..', '/a/../b', '/a b', 'handoff', '/.hidden']
const settings: Record<string, string[]> = {
  LLM_BASE_URL: addresses,
  DRIVE9_SERVER: addresses,
  E2B_API_URL: addresses,
  E2B_SANDBOX_URL: addresses,
  LLM_PRICE_INPUT: numbers,
  LLM_PRICE_OUTPUT: numbers,
  HANDOFF_MAX_COST: numbers,
  LLM_CONTEXT_TOKENS: numbers,
  HANDOFF_MAX_INPUT_TOKENS: numbers,
  HANDOFF_DEADLINE_SECONDS: numbers,
  DRIVE9_ROOT: roots,
}

function isRead(environment: Record<string, string>): boolean {
  try {
    parseSettings(environment)
    return true
  } catch (error) {
    expect(isHandoffError(error, 'invalid-input')).toBe(true)
    return false
  }
}

test.each(Object.entries(settings))('%s is wrong for the health check where it is for the house', (name, values) => {
  for (const value of values) {
    const environment = { ...needed, [name]: value }
    expect({ value, wrong: readServiceSettings(environment).wrong.includes(name) }).toEqual({
      value,
      wrong: !isRead(environment),
    })
  }
})
