// What vercel.json tells the platform: limits of functions, headers of the page, and what is not uploaded.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readPlatformSettings } from '../../src/service/server/platform-settings.js'
import { root } from './kit.js'

test('the settings of the platform: nothing is built, only the page is published, every pattern is used', async () => {
  const settings = await readPlatformSettings(root)
  expect(settings).toMatchObject({ framework: null, buildCommand: '', outputDirectory: 'dist/web', regions: ['iad1'] })
  expect(settings.functions['api/ask.ts']).toMatchObject({ maxDuration: 300, supportsCancellation: true })
  expect(Object.keys(settings.functions).at(-1)).toBe('api/*.ts')
  for (const rule of Object.values(settings.functions)) expect(rule.excludeFiles?.length ?? 0).toBeLessThanOrEqual(256)
  const policy = settings.headers[0]!.headers.find(({ key }) => key === 'Content-Security-Policy')!.value
  expect(policy).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  )
})

test('only this host is held to HTTPS: its neighbours below the same domain are not ours to decide about', async () => {
  const all = (await readPlatformSettings(root)).headers.flatMap(({ headers }) => headers)
  expect(all.find(({ key }) => key === 'Strict-Transport-Security')?.value).toBe('max-age=63072000')
})

test('what a deployment does not upload', () => {
  const ignored = readFileSync(join(root, '.vercelignore'), 'utf8').split('\n')
  expect(ignored).toEqual(
    expect.arrayContaining([
      '.env',
      'test',
      'docs',
      'src/emulators',
      'src/build',
      'src/benchmarks',
      'src/action',
      'src/cli',
    ]),
  )
  const unanchored = ignored.filter((pattern) => pattern !== '' && !pattern.startsWith('#') && !pattern.startsWith('/'))
  const parts = ['dist', 'web', 'dist/web', 'api', 'src', 'src/service', 'src/handoff']
  expect(
    unanchored.filter((pattern) => parts.includes(pattern)),
    'the page and the functions are uploaded',
  ).toEqual([])
})
