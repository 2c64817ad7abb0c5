// A push, from the built dist: what the job learns, what people see, what was asked of whom.
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ActionWorld, type Step, startActionWorld } from './kit.js'

let world: ActionWorld
let first: Step

beforeAll(async () => {
  world = await startActionWorld({
    files: [
      {
        'README.md': '# Tools\n\nTools that refresh tokens.\n',
        'src/token.ts': 'export function refreshToken(age: number) {\n  return age > 3600\n}\n',
      },
      { 'src/other.ts': 'export const colour = "green"\n' },
    ],
  })
  first = await world.step({ event: world.push() })
})

afterAll(() => world?.close())

test('a first push leaves a sealed run and tells the job of it', async () => {
  expect(first.errors).toEqual([])
  expect(first.code).toBe(0)
  const { outputs } = first
  expect(outputs).toMatchObject({ commit: world.repository.head, reused: 'false', model: 'offline-extractive' })
  expect(outputs['run']).toMatch(new RegExp(`^${world.repository.head}-\\d+-1$`))
  expect(JSON.parse(await readFile(outputs['handoff-file']!, 'utf8'))).toMatchObject({ run: outputs['run'] })
  expect(await readFile(outputs['summary-file']!, 'utf8')).toContain('## What it is and for whom')
})
