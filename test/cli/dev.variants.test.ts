// `npm run dev` where it cannot begin: the reason and the way out are said before anything is summarised.
import { execFile } from 'node:child_process'
import { createServer } from 'node:net'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { runProgram, startProgram } from '../support/run-program.js'
import { until } from '../support/until.js'

const dev = (port: string) => runProgram('src/cli/dev.ts', [], { PORT: port })

test.each(['abc', '0', '70000', '3000 '.repeat(2), '-1'])('a PORT that is none (%j) is refused', async (port) => {
  const { code, stdout, stderr } = await dev(port)
  expect(code).toBe(1)
  expect(stdout + stderr).toBe('PORT is not a number up to 65535.\nName another one: PORT=… npm run dev\n')
})

test('a port that is taken is named, with the way to another', async () => {
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  const { port } = other.address() as { port: number }
  const { code, stdout, stderr } = await dev(String(port))
  other.close()
  expect(code).toBe(1)
  expect(stdout + stderr).toBe(`Port ${port} is taken.\nName another one: PORT=… npm run dev\n`)
})

test('it prints a line that asks a question and one that calls a tool of MCP, and both work', async () => {
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const { port } = probe.address() as { port: number }
  await new Promise((resolve) => probe.close(resolve))
  const { child, ended } = startProgram('src/cli/dev.ts', [], { PORT: String(port) })
  let said = ''
  child.stdout!.on('data', (text: Buffer) => {
    said += text.toString()
  })
  const lines = await until(
    'the lines for curl',
    () => {
      const found = said.match(/^ {2}curl .*$/gm) ?? []
      return found.length === 2 ? found : undefined
    },
    90_000,
  )
  const replies = lines.map((line) =>
    promisify(execFile)('sh', ['-c', `${line.replace('curl', 'curl -sS --max-time 60')}`]),
  )
  const [asked, called] = (await Promise.all(replies)).map(({ stdout }) => stdout)
  child.kill('SIGINT')
  expect(JSON.parse(asked!)).toMatchObject({ status: 'done', text: expect.any(String) })
  // The reply is JSON, or an event with it.
  const { result } = JSON.parse(called!.replace(/^event: message\ndata: /m, ''))
  expect(result).toMatchObject({ structuredContent: { repository: 'local/handoff', summary: expect.any(String) } })
  expect((await ended).code).toBe(0)
}, 200_000)
