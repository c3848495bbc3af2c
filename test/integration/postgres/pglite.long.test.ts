import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { postgresAdapter } from '@svc/db/postgres'
import { describe, expect, it } from 'vitest'
import { SCHEMA } from '../../../src/adapters/postgres/sql/schema.js'
import { describeWithRelease } from '../upgrade/describe-with-release.js'
import { releasedPostgres } from '../upgrade/released-source.js'
import { attempt } from './attempt.js'

describe('a PGlite database on disk', () => {
  it('keeps rows, between migrate() and its end', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-db-pglite-'))
    try {
      const first = new PGlite(folder)
      const store = postgresAdapter(first, { schema: 'files' })
      await expect(store.find({ bucket: 'b', key: 'k' })).rejects.toMatchObject({
        code: 'DATABASE_UNAVAILABLE',
        message: expect.stringContaining('migrate()') as string,
      })
      expect(await store.migrate()).toEqual({ from: 0, to: SCHEMA.version })
      const row = await store.reserve(attempt('kept'))
      await store.close()
      await first.close()
      await expect(store.ping()).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })

      const second = new PGlite(folder)
      const again = postgresAdapter(second, { schema: 'files' })
      expect(await again.migrate()).toEqual({ from: SCHEMA.version, to: SCHEMA.version })
      expect(await again.verify()).toEqual([])
      expect(await again.find(row)).toEqual(row)
      await second.close()
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})

describeWithRelease('a PGlite database with the schema of version 1.5', () => {
  it('is upgraded', async () => {
    const release = await releasedPostgres()
    const pglite = new PGlite()
    await pglite.exec(release.postgresSchema({ schema: 'svc_db' }))
    const store = postgresAdapter(pglite)
    expect(await store.migrate()).toEqual({ from: 1, to: SCHEMA.version })
    expect(await store.verify()).toEqual([])
    const { rows } = await pglite.query('SELECT build_claimed_until FROM svc_db.schema_version')
    expect(rows).toEqual([{ build_claimed_until: null }])
    await pglite.close()
  })
})
