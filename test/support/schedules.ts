// Runs many broken scenarios side by side and says which of them did not keep the promise.
export interface Schedule {
  /** What was broken, in words. */
  plan: string
  /** How the promise was not kept. */
  wrong: string[]
}

/** SEED=17 is that one alone; LONG=1 is the long list, and with FIRST_SEED=500 LAST_SEED=999 that part of it. */
export function schedulesFrom(short: number, long: number): number[] {
  const { SEED, LONG, FIRST_SEED = '0', LAST_SEED = '999999' } = process.env
  if (SEED !== undefined) return [Number(SEED)]
  const all = Array.from({ length: LONG === '1' ? long : short }, (_, seed) => seed)
  return all.slice(Number(FIRST_SEED), Number(LAST_SEED) + 1)
}

/** A line for so many seeds, so that a long run that is stopped has figures. */
const progressEvery = 250

/** One line for each failing seed, with what replays it. `atOnce` is 1 where scenarios would meet. */
export async function runSchedules(
  seeds: number[],
  run: (seed: number) => Promise<Schedule>,
  mapConcurrent = 6,
): Promise<string[]> {
  const waiting = [...seeds]
  const failures: string[] = []
  let done = 0
  const worker = async () => {
    for (let seed = waiting.shift(); seed !== undefined; seed = waiting.shift()) {
      const { plan, wrong } = await run(seed).catch((error: unknown) => {
        return {
          plan: 'see the error',
          wrong: [error instanceof Error ? (error.stack ?? error.message) : String(error)],
        }
      })
      done += 1
      if (done % progressEvery === 0) console.log(figuresText({ done, of: seeds.length, failed: failures.length }))
      if (wrong.length === 0) continue
      failures.push(`SEED=${seed} (${plan}): ${[...new Set(wrong)].join('; ')}`)
      // At once: a long run should not have to end before one can begin to look.
      console.error(failures.at(-1))
    }
  }
  await Promise.all(Array.from({ length: mapConcurrent }, worker))
  return failures
}

/** The figures of a suite on one line, for the log of a long run. */
export function figuresText(figures: Record<string, number>): string {
  return Object.entries(figures)
    .map(([name, value]) => `${name}: ${Math.round(value).toLocaleString('en-GB')}`)
    .join(', ')
}
