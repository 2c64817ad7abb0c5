// Waits for something that will be true soon, and says what it waited for when it does not come.

export async function until<T>(what: string, look: () => T | Promise<T>, deadlineMs = 20_000): Promise<NonNullable<T>> {
  const end = Date.now() + deadlineMs
  for (;;) {
    const found = await look()
    if (found) return found as NonNullable<T>
    if (Date.now() > end) throw new Error(`It did not happen within ${deadlineMs} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
