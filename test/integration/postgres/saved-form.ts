import { eq } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { pgTable, text } from 'drizzle-orm/pg-core'
import knex from 'knex'
import { Kysely, PostgresDialect, type CompiledQuery } from 'kysely'
import pg from 'pg'
import postgres from 'postgres'
import type { StorageObjectStore } from '@svc/db'
import { postgresAdapter, type PostgresPool } from '@svc/db/postgres'

/** What a form is saved with: a row of the application, and the end of its file. */
export interface SavedForm {
  readonly url: string
  readonly schema: string
  readonly form: string
  readonly scope: string
  readonly id: string
}

/** Called between two statements, with the process id of the backend. */
export type Between = (step: string, backend: number) => Promise<void>

/** The steps, in order. The first one follows BEGIN. */
export const STEPS = ['begun', 'inserted', 'kept', 'completed', 'committed'] as const

const forms = pgTable('forms', { id: text('id').primaryKey(), state: text('state').notNull() })
const PID = 'SELECT pg_backend_pid() AS pid'

interface Transaction {
  readonly store: StorageObjectStore
  readonly backend: number
  readonly insert: () => Promise<unknown>
  readonly complete: () => Promise<unknown>
}

async function run({ scope, id }: SavedForm, between: Between, transaction: Transaction): Promise<void> {
  const { store, backend, insert, complete } = transaction
  await between('begun', backend)
  await insert()
  await between('inserted', backend)
  await store.keep({ scope, objects: [{ id }] })
  await between('kept', backend)
  await complete()
  await between('completed', backend)
}

async function onClient(
  { url }: SavedForm,
  between: Between,
  work: (client: pg.Client, backend: number) => Promise<void>,
): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  // The next query reports the loss.
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query('BEGIN')
    const { rows } = await client.query<{ pid: number }>(PID)
    await work(client, rows[0]!.pid)
    await client.query('COMMIT')
    await between('committed', rows[0]!.pid)
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** Saves a form in one transaction of each library, as docs/forms-and-drafts.md shows. */
export const LIBRARIES: Readonly<Record<string, (saved: SavedForm, between: Between) => Promise<void>>> = {
  pg: (saved, between) =>
    onClient(saved, between, (client, backend) =>
      run(saved, between, {
        ...{ store: postgresAdapter(client, { schema: saved.schema }), backend },
        insert: () => client.query(`INSERT INTO forms VALUES ($1, 'new')`, [saved.form]),
        complete: () => client.query(`UPDATE forms SET state = 'saved' WHERE id = $1`, [saved.form]),
      }),
    ),

  drizzle: (saved, between) =>
    onClient(saved, between, (client, backend) => {
      const trx = drizzle(client)
      return run(saved, between, {
        ...{ store: postgresAdapter(client, { schema: saved.schema }), backend },
        insert: () => trx.insert(forms).values({ id: saved.form, state: 'new' }),
        complete: () => trx.update(forms).set({ state: 'saved' }).where(eq(forms.id, saved.form)),
      })
    }),

  kysely: (saved, between) =>
    onClient(saved, between, (client, backend) => {
      // Only compiles queries.
      const pool = new pg.Pool({ connectionString: saved.url })
      const database = new Kysely<{ forms: { id: string; state: string } }>({
        dialect: new PostgresDialect({ pool }),
      })
      const send = ({ sql, parameters }: CompiledQuery) => client.query(sql, [...parameters])
      return run(saved, between, {
        ...{ store: postgresAdapter(client, { schema: saved.schema }), backend },
        insert: () => send(database.insertInto('forms').values({ id: saved.form, state: 'new' }).compile()),
        complete: () =>
          send(database.updateTable('forms').set({ state: 'saved' }).where('id', '=', saved.form).compile()),
      })
    }),

  async knex(saved, between) {
    const database = knex({ client: 'pg', connection: saved.url })
    let backend = 0
    try {
      await database.transaction(async (trx) => {
        const { rows } = await trx.raw<{ rows: { pid: number }[] }>(PID)
        backend = rows[0]!.pid
        await run(saved, between, {
          ...{ store: postgresAdapter(connectionsOf(trx), { schema: saved.schema }), backend },
          insert: async () => trx('forms').insert({ id: saved.form, state: 'new' }),
          complete: async () => trx('forms').where({ id: saved.form }).update({ state: 'saved' }),
        })
      })
      await between('committed', backend)
    } finally {
      await database.destroy()
    }
  },

  async 'postgres.js'(saved, between) {
    const sql = postgres(saved.url, { max: 1, onnotice: () => {} })
    let backend = 0
    try {
      await sql.begin(async (trx) => {
        const [row] = await trx<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`
        backend = row!.pid
        await run(saved, between, {
          ...{ store: postgresAdapter(trx, { schema: saved.schema }), backend },
          insert: () => trx`INSERT INTO forms VALUES (${saved.form}, 'new')`.then(),
          complete: () => trx`UPDATE forms SET state = 'saved' WHERE id = ${saved.form}`.then(),
        })
      })
      await between('committed', backend)
    } finally {
      await sql.end({ timeout: 1 })
    }
  },
}

/** What a client of knex has, which knex itself types as `any`. */
interface KnexClient {
  acquireConnection(): Promise<Pick<PostgresPool, 'query'>>
  releaseConnection(connection: Pick<PostgresPool, 'query'>): Promise<void>
}

/** Runs each query on a connection of knex, which is always the same in a transaction. */
function connectionsOf({ client }: { readonly client: KnexClient }): PostgresPool {
  return {
    async query(query) {
      const connection = await client.acquireConnection()
      try {
        return await connection.query(query)
      } finally {
        await client.releaseConnection(connection)
      }
    },
    connect() {},
  }
}
