import type { MongoClient } from 'mongodb'

/** Clients that have run an operation. From then on, the driver looks for servers by itself. */
const opened = new WeakSet<MongoClient>()
/** Clients that found no server for their first operation. */
const failed = new WeakSet<MongoClient>()

/**
 * Runs an operation. If a client finds no server for its first one, the driver gives up on that client: all later operations
 * fail at once, although the server is back. So the next operation connects again.
 */
export async function whileOpen<T>(client: MongoClient, operation: () => Promise<T>): Promise<T> {
  if (opened.has(client)) return operation()
  try {
    if (failed.has(client)) await client.connect()
    const result = await operation()
    opened.add(client)
    return result
  } catch (error) {
    if ((error as { name?: unknown } | null)?.name === 'MongoServerSelectionError') failed.add(client)
    throw error
  }
}
