// What is kept running is begun again at every change of what it is made of, however an editor saves it.
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Reloading, reload } from '../../src/cli/watch.js'

let root: string
let serving: Reloading<Running>
let reported: string[]
let open: number
let failing: boolean
let pages: number

interface Running {
  number: number
  close(): Promise<void>
}

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'reload-'))
  mkdirSync(join(root, 'api'))
  mkdirSync(join(root, 'web'))
  mkdirSync(join(root, 'src/handoff/workflows/answer'), { recursive: true })
  mkdirSync(join(root, 'test'))
  writeFileSync(join(root, 'api/ask.ts'), 'one')
  reported = []
  open = 0
  failing = false
  pages = 0
  let begun = 0
  serving = await reload({
    root,
    sources: ['api', 'src/handoff', 'vercel.json'],
    page: {
      folder: 'web',
      async build() {
        if (failing) throw new Error('it cannot be built')
        pages += 1
      },
    },
    say: (text) => reported.push(text),
    async begin() {
      if (failing) throw new Error('it does not begin')
      begun += 1
      open += 1
      return {
        number: begun,
        async close() {
          open -= 1
        },
      }
    },
  })
})

afterEach(async () => {
  await serving[Symbol.asyncDispose]()
  rmSync(root, { recursive: true })
})

const write = (path: string) => writeFileSync(join(root, path), String(Math.random()))

/** As most editors save: a new file in the place of the old one. */
function replace(path: string): void {
  write(`${path}.new`)
  renameSync(join(root, `${path}.new`), join(root, path))
}

async function hears(sentence: RegExp): Promise<void> {
  const deadline = Date.now() + 5_000
  while (!reported.some((one) => sentence.test(one))) {
    if (Date.now() > deadline) throw new Error(`Not reported ${sentence}, but: ${reported.join('; ')}`)
    await pause(10)
  }
  reported.length = 0
}

test('a file that is written, replaced, and written again', async () => {
  write('api/ask.ts')
  await hears(/^api\/ask\.ts changed: begun again$/)
  replace('api/ask.ts')
  await hears(/^api\/ask\.ts changed: begun again$/)
  write('api/ask.ts')
  await hears(/^api\/ask\.ts changed: begun again$/)
  expect(serving.running().number).toBe(4)
  expect(open).toBe(1)
})

test('deep files, folders that are new, and a file beside the folders', async () => {
  write('src/handoff/workflows/answer/answer-question.ts')
  await hears(/^src\/handoff\/workflows\/answer\/answer-question\.ts changed: begun again$/)
  mkdirSync(join(root, 'src/handoff/attic'))
  await hears(/^src\/handoff\/attic changed/)
  write('src/handoff/attic/old.ts')
  await hears(/^src\/handoff\/attic\/old\.ts changed: begun again$/)
  rmSync(join(root, 'src/handoff/attic'), { recursive: true })
  mkdirSync(join(root, 'src/handoff/attic'))
  await hears(/^src\/handoff\/attic.* changed/)
  write('src/handoff/attic/old.ts')
  await hears(/^src\/handoff\/attic\/old\.ts changed: begun again$/)
  replace('vercel.json')
  await hears(/^vercel\.json changed: begun again$/)
})

test('the page is built again, other sources are ignored, and many changes cause one build', async () => {
  write('web/page.ts')
  await hears(/^web\/page\.ts changed: reload the page$/)
  expect(pages).toBe(1)
  expect(serving.running().number).toBe(1)
  write('test/some.test.ts')
  write('README.md')
  write('api/.ask.ts.swp')
  write('api/b.ts')
  write('api/ask.ts')
  await hears(/^api\/ask\.ts, api\/b\.ts changed: begun again$/)
  expect(serving.running().number).toBe(2)
})

test('what cannot begin is said, and begins with the next change', async () => {
  failing = true
  write('api/ask.ts')
  await hears(/^api\/ask\.ts changed: it does not begin$/)
  write('web/page.ts')
  await hears(/^web\/page\.ts changed: it cannot be built$/)
  failing = false
  write('api/ask.ts')
  await hears(/^api\/ask\.ts changed: begun again$/)
  expect(serving.running().number).toBe(2)
})
