/**
 * Makes a value when it is first needed, and from then on gives the same one to everybody. What failed is tried again
 * by whoever asks next.
 */
export function keptOnceMade<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null
  return () => {
    if (made) return made
    const making = make()
    made = making
    making.catch(() => {
      made = null
    })
    return making
  }
}
