import { postgresAdapter } from '@svc/db/postgres'
import pg from 'pg'
import { expect, vi } from 'vitest'
import { createDatabase } from '../../../servers/fresh-database.js'
import { run, type SnippetCheck, type SnippetChecks } from '../programs.js'
import { clientOf } from './app-client.js'

interface Execution {
  waitUntil(promise: Promise<unknown>): void
}

interface WorkerProgram {
  readonly default: {
    fetch(request: Request, environment: { DATABASE_URL: string }, execution: Execution): Promise<Response>
  }
}

/** Runs a worker that handles the events of its uploads before its requests end. */
const deliversWithinRequests: SnippetCheck = async (program) => {
  const database = await createDatabase(process.env['DATABASE_URL']!)
  const DATABASE_URL = database.url
  const { Pool } = pg
  const pools: pg.Pool[] = []
  const opened = vi.spyOn(pg, 'Pool').mockImplementation(function (options?: pg.PoolConfig) {
    const pool = new Pool(options)
    pools.push(pool)
    return pool
  })
  const printed = vi.spyOn(console, 'log').mockReturnValue()
  try {
    const store = postgresAdapter(new pg.Pool({ connectionString: DATABASE_URL }), { events: true })
    await store.migrate()
    const { default: worker } = await run<WorkerProgram>(program)
    const pending: Promise<unknown>[] = []
    const execution: Execution = { waitUntil: (promise) => void pending.push(promise) }
    const handler = (request: Request) => worker.fetch(request, { DATABASE_URL }, execution)
    const api = clientOf({ s3: { handler } }, 'ann')
    const upload = () => api.upload(new File(['hello'], 'a.txt', { type: 'text/plain' }))
    const objects = await Promise.all(Array.from({ length: 5 }, upload))
    expect(await Promise.all(pending)).toHaveLength(5)
    const lines = printed.mock.calls.map(([line]) => String(line))
    expect(lines.sort()).toEqual(objects.map(({ key }) => `${key} was activated.`).sort())
    expect(await store.countEvents()).toMatchObject({ waiting: 0, claimed: 0 })
    expect(pools.length).toBeGreaterThan(10)
  } finally {
    printed.mockRestore()
    opened.mockRestore()
    await Promise.all(pools.map((pool) => pool.end()))
    await database.drop()
  }
}

export const workerChecks: SnippetChecks = {
  'docs/fetch.md#worker.ts': { onPostgres: deliversWithinRequests },
  'docs/postgres.md#one-server.ts': { onPostgres: deliversWithinRequests },
}
