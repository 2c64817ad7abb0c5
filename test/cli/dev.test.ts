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

test('it prints a line that asks a question, and that line works', async () => {
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const { port } = probe.address() as { port: number }
  await new Promise((resolve) => probe.close(resolve))
  const { child, ended } = startProgram('src/cli/dev.ts', [], { PORT: String(port) })
  let said = ''
  child.stdout!.on('data', (text: Buffer) => {
    said += text.toString()
  })
  const line = await until('the line for curl', () => /^ {2}curl .*$/m.exec(said)?.[0], 90_000)
  const { stdout } = await promisify(execFile)('sh', ['-c', `${line.replace('curl', 'curl -sS --max-time 60')}`])
  child.kill('SIGINT')
  expect(JSON.parse(stdout)).toMatchObject({ status: 'done', text: expect.any(String) })
  expect((await ended).code).toBe(0)
}, 200_000)
