// `npm run dev` where it cannot begin: the reason and the way out are said before anything is summarised.
import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { runProgram } from '../support/program.js'

const dev = (port: string) => runProgram('src/commands/dev.ts', [], { PORT: port })

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
