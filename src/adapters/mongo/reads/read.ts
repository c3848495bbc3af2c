import type { ClientSession } from 'mongodb'

/** One command that reads, to be run in a session that waits for what this process has written. */
export type Read<T> = (session: ClientSession) => Promise<T>
