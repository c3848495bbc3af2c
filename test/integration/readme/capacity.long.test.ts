import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { createDatabase } from '../../servers/fresh-database.js'
import { installedProgram } from '../../servers/installed-program.js'
import { describePostgres, poolOf } from '../postgres/schemas.js'
import { blocksOf } from './documents.js'

describePostgres('the commands of docs/capacity.md', (serverUrl) => {
  it.skipIf(installedProgram('pgbench') === null)('measure pairs and pages with pgbench', async () => {
    const [table, ...otherSql] = blocksOf('docs/capacity.md', 'sql')
    const [measure, ...otherCommands] = blocksOf('docs/capacity.md', 'sh')
    expect([otherSql, otherCommands]).toEqual([[], []])
    const shorter = measure!.replace(/-T \d+/g, '-T 1').replace(/-c 90/g, '-c 4')
    expect(shorter.match(/-c [14] -j [14] -T 1$/gm)).toHaveLength(3)

    const database = await createDatabase(serverUrl)
    const folder = mkdtempSync(join(tmpdir(), 'svc-db-capacity-'))
    try {
      const pool = poolOf(database.url, { max: 1 })
      await postgresAdapter(pool).migrate()
      await pool.end()
      // Outside a transaction, because it vacuums.
      for (const statement of table!.split(/;\n/)) await database.query(statement)
      const { hostname, port, username, pathname } = new URL(database.url)
      const PGHOST = hostname
      const env = { ...process.env, PGHOST, PGPORT: port, PGUSER: username, PGDATABASE: pathname.slice(1) }
      const output = execFileSync('bash', ['-ec', shorter], { cwd: folder, env, encoding: 'utf8' })
      expect(output.match(/^tps = [\d.]+/gm)).toHaveLength(3)
      expect(output.match(/^number of failed transactions: 0 /gm)).toHaveLength(3)
      const { rows } = await database.query(
        `SELECT 1 FROM capacity WHERE status = 'pending' HAVING count(*) > 4`,
      )
      expect(rows).toEqual([])
      const full = await database.query(
        `SELECT 1 FROM capacity WHERE status = 'active' GROUP BY scope HAVING count(*) >= 50`,
      )
      expect(full.rows).toHaveLength(1000)
    } finally {
      rmSync(folder, { recursive: true })
      await database.drop()
    }
  })
})
