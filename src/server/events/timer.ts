/** Starts a timer. One that is `idle` doesn't keep a Node.js process alive. Returns a function that stops it. */
export function startTimer(seconds: number, action: () => void, idle: boolean): () => void {
  const timer: unknown = setTimeout(action, seconds * 1000)
  // Other runtimes return a number.
  if (idle && typeof timer === 'object') (timer as { unref?: () => void } | null)?.unref?.()
  return () => clearTimeout(timer as ReturnType<typeof setTimeout>)
}
