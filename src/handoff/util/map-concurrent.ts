// Maps items with bounded concurrency. Results keep the order of the items. After an error nothing new starts, and it is thrown once all started
// work has ended.

export async function mapConcurrent<T, R>(
  width: number,
  items: readonly T[],
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = []
  const waiting = [...items.entries()].reverse()
  let failure: { error: unknown } | undefined
  const worker = async () => {
    for (let next = waiting.pop(); next && !failure; next = waiting.pop()) {
      const [index, item] = next
      try {
        results[index] = await work(item)
      } catch (error) {
        failure ??= { error }
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, worker))
  if (failure) throw failure.error
  return results
}
