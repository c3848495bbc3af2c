import type { TestProject } from 'vitest/node'
import { findServer, type FoundServer } from './found-server.js'
import { POSTGRES } from './postgres.js'

declare module 'vitest' {
  export interface ProvidedContext {
    postgres: FoundServer
  }
}

/** Starts the servers that the integration tests share, once for all files; each file has a schema of its own in it. */
export default async function startServers(project: TestProject): Promise<() => Promise<void>> {
  const postgres = await findServer(POSTGRES)
  if ('reason' in postgres) {
    console.warn(`Skipped: tests with PostgreSQL. There is ${postgres.reason}`)
    project.provide('postgres', { url: null, reason: postgres.reason })
    return async () => {}
  }
  project.provide('postgres', { url: postgres.url, from: postgres.from })
  return () => postgres.stop()
}
