// The order in which test files begin. The longest come first, so that a run does not end with a single worker. With `CI` set the others are shuffled.
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { randomFrom } from './random.js'

/** Below `test`, without `.test.ts`. Each takes more than ten seconds, or waits for that long. */
export const longestFiles = [
  'action/ask.variants',
  'guarantees/strangers',
  'service/jobs.faults',
  'service/auth/sign-in.faults',
  'cli/conformance.faults',
  'service/withdraw.variants',
  'handoff/workflows/summarise/outside-calls.faults',
  'guarantees/resumed-streams',
  'service/deadline.faults',
  'guarantees/run-protocol',
  'action/correct.variants',
  'action/change-comment.variants',
  'guarantees/run-atomicity',
  'handoff/sandbox/program/search/limits.large',
  'handoff/sandbox/program/drive9.faults',
  'guarantees/tampered-run',
  'guarantees/lost-data',
  'action/enterprise.variants',
  'guarantees/answer-durability',
  'service/webhook',
  'handoff/clients/e2b/client',
  'action/comment',
  'web/story',
]

export class FileOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const usual = process.env['CI'] ? shuffled(files, this.ctx.config.sequence.seed) : await super.sort(files)
    return usual.toSorted((a, b) => placeOf(a) - placeOf(b))
  }
}

function placeOf({ moduleId }: TestSpecification): number {
  const place = longestFiles.findIndex((file) => moduleId.endsWith(`/test/${file}.test.ts`))
  return place < 0 ? longestFiles.length : place
}

function shuffled<T>(list: readonly T[], seed: number): T[] {
  const random = randomFrom(seed)
  return list
    .map((value) => ({ value, at: random.next() }))
    .sort((a, b) => a.at - b.at)
    .map(({ value }) => value)
}
