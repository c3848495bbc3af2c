import type { TestProject } from 'vitest/node'
import { findServer, type FoundServer, type ServerKind } from './found-server.js'
import { MONGODB } from './mongod.js'
import { POSTGRES } from './postgres.js'

declare module 'vitest' {
  export interface ProvidedContext {
    postgres: FoundServer
    mongodb: FoundServer
  }
}

/** Starts the servers that the integration tests share, once for all files; each file has a place of its own in them. */
export default async function startServers(project: TestProject): Promise<() => Promise<void>> {
  const stops = await Promise.all([
    provide(project, 'postgres', 'PostgreSQL', POSTGRES),
    provide(project, 'mongodb', 'MongoDB', MONGODB),
  ])
  return async () => {
    await Promise.all(stops.map((stop) => stop()))
  }
}

async function provide(
  project: TestProject,
  name: 'postgres' | 'mongodb',
  title: string,
  kind: ServerKind,
): Promise<() => Promise<void>> {
  const server = await findServer(kind)
  if ('reason' in server) {
    console.warn(`Skipped: tests with ${title}. There is ${server.reason}`)
    project.provide(name, { url: null, reason: server.reason })
    return async () => {}
  }
  project.provide(name, { url: server.url, from: server.from })
  return () => server.stop()
}
