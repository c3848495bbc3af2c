import { createUploadQueue, type QueuedUpload, type UploadQueueOptions } from '@svc/db/uploads'
import { start, type Fault } from '../faulty-server.js'
import type { ServerFixtureOptions } from '../server.js'

let files = 0

/** Creates a small file with a unique name. */
export const note = (text = 'note', name = `${++files}.txt`) =>
  new File([text], name, { type: 'text/plain', lastModified: files })

export const notes = (count: number) => Array.from({ length: count }, () => note())

/** A gate that holds the bytes of uploads back. */
export function createGate() {
  const held: (() => void)[] = []
  let isOpen = false
  const pass = async (serve: () => Promise<Response>): Promise<Response> => {
    if (!isOpen) await new Promise<void>((resolve) => held.push(resolve))
    return serve()
  }
  return {
    pass,
    /** How many were held back and not let through. */
    count: () => held.length,
    letOneThrough: () => held.shift()?.(),
    open() {
      isOpen = true
      for (const release of held.splice(0)) release()
    },
  }
}

/** Creates a queue at a server in this process. PUTs and other requests may meet faults. */
export function startQueue(
  faults: Readonly<Record<string, Fault>> = {},
  options: UploadQueueOptions = {},
  server: ServerFixtureOptions = {},
) {
  const client = start(faults, server)
  return { ...client, ...watch(createUploadQueue(client.api, options)) }
}

/** Returns a queue with ways to look at it. */
export function watch(queue: ReturnType<typeof createUploadQueue>) {
  const items = () => queue.getSnapshot().items
  return {
    queue,
    items,
    states: () => items().map(({ state }) => state),
    of: (id: string): QueuedUpload => items().find((item) => item.id === id)!,
    isIdle: () => items().every(({ state }) => state === 'done' || state === 'failed'),
  }
}
