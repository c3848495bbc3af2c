/** A request body that the test sends piece by piece. */
export interface GatedBody {
  readonly stream: ReadableStream<Uint8Array>
  /** Sends bytes once the server has asked for more. */
  send(bytes: Uint8Array): Promise<void>
  /** Resolves once the server waits for more bytes than were sent. */
  readonly isWaitedFor: () => Promise<void>
  close(): void
  breakOff(): void
  /** Whether the server has read anything, or tried to. */
  readonly isRead: () => boolean
  /** Whether the server has given up reading. */
  readonly isCancelled: () => boolean
}

export function gatedBody(): GatedBody {
  let controller: ReadableStreamDefaultController<Uint8Array> | null = null
  let isRead = false
  let isCancelled = false
  let pulled = (): void => undefined
  let nextPull = new Promise<void>((resolve) => {
    pulled = resolve
  })
  const stream = new ReadableStream<Uint8Array>(
    {
      start(given) {
        controller = given
      },
      pull() {
        isRead = true
        pulled()
        // Further reads wait until the test has sent something.
        return undefined
      },
      cancel() {
        isCancelled = true
      },
    },
    { highWaterMark: 0 },
  )
  return {
    stream,
    async send(bytes) {
      await nextPull
      nextPull = new Promise<void>((resolve) => {
        pulled = resolve
      })
      controller?.enqueue(bytes)
    },
    isWaitedFor: () => nextPull,
    close: () => controller?.close(),
    breakOff: () => controller?.error(new Error('reset')),
    isRead: () => isRead,
    isCancelled: () => isCancelled,
  }
}
