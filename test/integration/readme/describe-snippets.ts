import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, inject, it, vi } from 'vitest'
import { emptyPglite } from '../../servers/empty-pglite.js'
import { createDatabase, type FreshDatabase } from '../../servers/fresh-database.js'
import { installedMongod } from '../../servers/mongod.js'
import { openMongoDatabase } from './checks/mongo.js'
import type { ServerCheck, SnippetCheck, SnippetChecks } from './programs.js'
import { closeServers } from './running-servers.js'
import { buildPrograms, closeWorkspace, openWorkspace, writeSnippets, type Snippet } from './snippets.js'

export interface WrittenSnippets {
  readonly workspace: string
  readonly snippets: readonly Snippet[]
}

/** Writes all snippets, and runs those that have one of these checks. */
export function describeSnippets(checks: SnippetChecks): WrittenSnippets {
  const workspace = openWorkspace()
  const snippets = writeSnippets(workspace)
  const postgres = inject('postgres')
  const mongodb = inject('mongodb')
  let database: FreshDatabase | undefined
  const mongoDatabase = mongodb.url === null ? null : openMongoDatabase(mongodb.url)

  beforeAll(async () => {
    // Servers in snippets listen on any free port.
    vi.stubEnv('PORT', '0')
    vi.stubEnv('DATA_FOLDER', join(workspace, 'database'))
    cpSync(await emptyPglite(), join(workspace, 'database'), { recursive: true })
    vi.stubEnv('FILES_FOLDER', join(workspace, 'files'))
    if (postgres.url !== null) {
      database = await createDatabase(postgres.url)
      for (const name of ['DATABASE_URL', 'DATABASE_OWNER_URL', 'REPLICA_URL']) vi.stubEnv(name, database.url)
    }
    if (mongoDatabase) {
      for (const name of ['MONGODB_URL', 'MONGODB_OWNER_URL']) vi.stubEnv(name, mongoDatabase.url)
    }
    await buildPrograms(workspace, snippets)
  })

  afterEach(() => {
    vi.restoreAllMocks()
    vi.unstubAllGlobals()
    vi.useRealTimers()
  })

  afterAll(async () => {
    await closeServers()
    // Pools that are still open lose their connections. Each has a listener for that.
    await database?.drop()
    await mongoDatabase?.drop()
    vi.unstubAllEnvs()
    closeWorkspace(workspace)
  })

  describe('runs', () => {
    for (const { id, program } of snippets) {
      const check = id === null ? undefined : checks[id]
      if (!check) continue
      it(id!, async ({ skip }) => {
        if (typeof check === 'function') return check(program)
        const { run, missing } = requirementsOf(check)
        skip(missing !== null, missing ?? undefined)
        await run(program)
      })
    }
  })

  /** Returns the check and, if its server is missing, the reason. */
  function requirementsOf(check: ServerCheck): { run: SnippetCheck; missing: string | null } {
    const reasonOf = (server: typeof postgres) => (server.url === null ? server.reason : null)
    if ('onPostgres' in check) return { run: check.onPostgres, missing: reasonOf(postgres) }
    if ('onMongo' in check) return { run: check.onMongo, missing: reasonOf(mongodb) }
    const missing = installedMongod() === null ? 'It starts its own mongod, and PATH has none.' : null
    return { run: check.onOwnMongod, missing }
  }

  return { workspace, snippets }
}
