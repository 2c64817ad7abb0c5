/** Milliseconds of processor time that synchronous work takes. Other processes do not count: a busy machine gives the same figure. */
export function processorTime(work: () => unknown): number {
  const before = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1_000
}
