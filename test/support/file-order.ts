// The order in which test files begin. The longest come first, so that a run does not end with a single worker. With `CI` set the others are shuffled.
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { randomFrom } from './random.js'

/**
 * Below `test`, without `.test.ts`. Each takes more than ten seconds, or waits for that long. The first one has the functions built, and the next five
 * work meanwhile, because they do not need them.
 */
export const longestFiles = [
  'service/jobs.faults',
  'action/ask.variants',
  'cli/conformance.faults',
  'handoff/workflows/summarise/outside-calls.faults',
  'action/correct.variants',
  'guarantees/run-protocol',
  'guarantees/strangers',
  'service/auth/sign-in.faults',
  'service/withdraw.variants',
  'service/deadline.faults',
  'guarantees/resumed-streams',
  'guarantees/run-atomicity',
  'handoff/sandbox/program/search/limits.large',
  'handoff/sandbox/program/drive9.faults',
  'action/change-comment.variants',
  'guarantees/tampered-run',
  'guarantees/lost-data',
  'action/enterprise.variants',
  'guarantees/answer-durability',
  'emulators/drive9/cli',
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
