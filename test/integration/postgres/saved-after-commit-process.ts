import pg from 'pg'
import { postgresAdapter } from '@svc/db/postgres'
import { dyingAfter, formServer, requestOf, type FormAfterCommit } from '../forms/form-server.js'

/** Saves a form as an ORM does that hides its connection, such as Prisma, keeps its file, and kills itself after one of the steps. */
async function save({ url, namespace, scope, id, diesAfter }: FormAfterCommit): Promise<void> {
  const between = dyingAfter(diesAfter)
  const pool = new pg.Pool({ connectionString: url })
  const forms = `${pg.escapeIdentifier(namespace)}.forms`
  const s3 = formServer(postgresAdapter(pool, { schema: namespace }), async (ids) => {
    const { rows } = await pool.query<{ file: string }>(`SELECT file FROM ${forms} WHERE file = ANY ($1)`, [
      ids,
    ])
    return rows.map(({ file }) => file)
  })
  between('begun')
  await pool.query(`INSERT INTO ${forms} VALUES ($1)`, [id])
  between('saved')
  await s3.db.keep(requestOf(scope), { ids: [id] })
  between('kept')
}

void save(JSON.parse(process.argv[2]!) as FormAfterCommit)
