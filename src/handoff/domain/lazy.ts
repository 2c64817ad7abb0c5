/** Makes a thing when it is first wanted, and keeps it. What could not be made is tried again by the next who wants it. */
export function lazy<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    if (made) return made
    const making = make()
    made = making
    making.catch(() => {
      made = undefined
    })
    return making
  }
}
