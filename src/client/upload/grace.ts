/** Runs work with a signal that follows the given one some milliseconds later. */
export async function withGrace<Result>(
  signal: AbortSignal | null | undefined,
  milliseconds: number,
  work: (graceful: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  const follow = () => {
    timer = setTimeout(() => controller.abort(signal?.reason), milliseconds)
  }
  signal?.addEventListener('abort', follow)
  try {
    return await work(controller.signal)
  } finally {
    signal?.removeEventListener('abort', follow)
    clearTimeout(timer)
  }
}
