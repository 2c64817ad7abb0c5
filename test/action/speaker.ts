// Says texts to the runner in every way there is, in a process of its own: what the runner obeys is what a process prints. The texts come in as
// JSON; the given mark is printed behind each.
import { readFileSync } from 'node:fs'
import { makeRunner } from '../../src/action/runner.js'

const { texts, mark } = JSON.parse(readFileSync(0, 'utf8')) as { texts: string[]; mark: string }
const runner = makeRunner()
for (const text of texts) {
  runner.info(text)
  runner.remark(text)
  runner.printUntrusted(text, text)
  runner.notice(text)
  process.stdout.write(mark)
}
