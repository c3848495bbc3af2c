import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { TestProject } from 'vitest/node'
import { findServer, type FoundServer, type ServerKind } from './found-server.js'
import { MONGODB } from './mongod.js'
import { POSTGRES } from './postgres.js'
import { RADOSGW } from './radosgw.js'
import { REDIS } from './redis.js'

/** The servers that integration tests share, by the name under which tests inject them. */
const shared = {
  postgres: { title: 'PostgreSQL', kind: POSTGRES },
  mongodb: { title: 'MongoDB', kind: MONGODB },
  redis: { title: 'Redis', kind: REDIS },
  s3: { title: 'S3', kind: RADOSGW },
} satisfies Record<string, { title: string; kind: ServerKind }>

export type SharedServer = keyof typeof shared

declare module 'vitest' {
  export interface ProvidedContext {
    postgres: FoundServer
    mongodb: FoundServer
    redis: FoundServer
    s3: FoundServer
    /** Where workers put the command that they build. Does not exist at first. */
    commandFolder: string
  }
}

/** Starts the servers once for all files. Each file uses its own schema, prefix or bucket. */
export default async function startServers(project: TestProject): Promise<() => Promise<void>> {
  const stops: (() => Promise<void>)[] = []
  // Inside node_modules, where the command finds the drivers.
  const commands = new URL(`../../node_modules/.cache/svc-db-command-${randomUUID()}`, import.meta.url)
  project.provide('commandFolder', fileURLToPath(commands))
  const stop = async () => {
    rmSync(commands, { recursive: true, force: true })
    await Promise.all(stops.map((end) => end()))
  }

  async function provide(name: SharedServer): Promise<void> {
    const { title, kind } = shared[name]
    const server = await findServer(kind)
    if ('reason' in server) {
      console.warn(`Skipped: tests with ${title}. There is ${server.reason}`)
      project.provide(name, { url: null, reason: server.reason })
    } else {
      stops.push(() => server.stop())
      project.provide(name, { url: server.url, from: server.from })
    }
  }

  const starts = await Promise.allSettled((Object.keys(shared) as SharedServer[]).map(provide))
  for (const start of starts) {
    if (start.status === 'fulfilled') continue
    await stop()
    throw start.reason
  }
  return stop
}
