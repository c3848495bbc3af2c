import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { sqliteAdapter } from '@svc/db/sqlite'
import Database from 'better-sqlite3'
import { buildCommand, jsonLines } from './command.js'

const command = buildCommand()

describe('svc-db on SQLite', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-db-cli-sqlite-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'data.db')
  const run = (...args: string[]) => command.run(args, { DATABASE_URL: `sqlite://${path}` })

  it('creates the file with migrate only, then finds no problems', async () => {
    const early = await run('verify')
    expect(early).toMatchObject({ exitCode: 2, stdout: '' })
    expect(early.stderr).toContain('There is no database file')
    expect(existsSync(path)).toBe(false)

    expect(jsonLines((await run('migrate', '--json', '--events', 'on')).stdout)).toEqual([{ from: 0, to: 1 }])
    expect(jsonLines((await run('migrate', '--json')).stdout)).toEqual([{ from: 1, to: 1 }])
    expect(await run('verify')).toMatchObject({ exitCode: 0, stdout: '', stderr: 'No problems found.\n' })
  })

  it('shows usage of a relative path and a prefix of the tables', async () => {
    const relative = ['--url', `sqlite:${path}`, '--prefix', 'files_']
    expect((await run('usage', 'ann', ...relative)).stderr).toContain('svc-db migrate --prefix files_')
    expect(await run('migrate', ...relative)).toMatchObject({ exitCode: 0 })
    const database = new Database(path)
    const store = sqliteAdapter(database, { tablePrefix: 'files_' })
    await store.reserve({
      ...{ scope: 'ann', bucket: 'b', key: 'k', declaredSize: 7, expiresAt: new Date('2100-01-01') },
    })
    database.close()
    const [usage] = jsonLines((await run('usage', 'ann', '--json', ...relative)).stdout)
    expect(usage).toMatchObject({ scope: 'ann', reservedBytes: 7 })
  })

  it('refuses a URL without a path of a file, and a file that is no database', async () => {
    for (const url of ['sqlite:', 'sqlite::memory:', 'sqlite://host/data.db', 'sqlite:./data.db?mode=ro']) {
      const { exitCode, stderr } = await run('verify', '--url', url)
      expect(exitCode, url).toBe(2)
      expect(stderr).toContain('sqlite:./data.db')
    }
    const { exitCode, stderr } = await run('verify', '--url', `sqlite:${command.file}`)
    expect(exitCode).toBe(5)
    expect(stderr).toContain('not an SQLite database')
  })
})
