import { expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { createDatabase } from '../../servers/fresh-database.js'
import { describePostgres, poolOf } from '../postgres/schemas.js'
import { blocksOf } from './documents.js'

describePostgres('the commands of docs/scaling.md', (serverUrl) => {
  it('set the share of a table that a vacuum waits for', async () => {
    const database = await createDatabase(serverUrl)
    const pool = poolOf(database.url, { max: 1 })
    try {
      await postgresAdapter(pool).migrate()
      for (const sql of blocksOf('docs/scaling.md', 'sql')) await database.query(sql)
      const { rows } = await database.query(
        `SELECT reloptions::text AS options FROM pg_class WHERE oid = 'svc_db.objects'::regclass`,
      )
      expect(rows).toEqual([
        { options: expect.stringContaining('autovacuum_vacuum_scale_factor=0.01') as string },
      ])
      expect(await postgresAdapter(pool).verify()).toEqual([])
    } finally {
      await pool.end()
      await database.drop()
    }
  })
})
