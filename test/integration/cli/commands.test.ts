import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import { beforeAll, expect, it } from 'vitest'
import { describePostgres, freshSchema, quoted, dropSchema } from '../postgres/schemas.js'
import { buildCommand, ended, jsonLines } from './command.js'
import { seededSchema } from './seeded-schema.js'

describePostgres('svc-db', (url) => {
  const command = buildCommand()
  const seeded = seededSchema(url)
  const { pool } = seeded
  beforeAll(async () => {
    await seeded.addActive('user:ann', 'a.txt', 10, 'texts')
    await seeded.addActive('user:ann', 'b\u001b[2J.txt', 3 * 1024 ** 2)
    await seeded.addActive('user:bob', 'c.txt', 7)
  })
  const run = (...args: string[]) => command.run([...args, '--schema', seeded.schema], { DATABASE_URL: url })

  it('migrate creates the schema, and does nothing the second time', async () => {
    const schema = freshSchema()
    const migrate = () => command.run(['migrate', '--json', '--schema', schema], { DATABASE_URL: url })
    try {
      const first = await migrate()
      expect(first).toMatchObject({ exitCode: 0, stderr: '' })
      const [{ from, to }] = jsonLines(first.stdout) as [{ from: number; to: number }]
      expect(from).toBe(0)
      expect(to).toBeGreaterThan(0)
      expect(jsonLines((await migrate()).stdout)).toEqual([{ from: to, to }])
    } finally {
      await dropSchema(pool, schema)
    }
  })

  it('verify reports a missing index', async () => {
    expect(await run('verify')).toEqual({ exitCode: 0, stdout: '', stderr: 'No problems found.\n' })
    await pool.query(`DROP INDEX ${quoted(seeded.schema)}.leftovers_oldest`)
    expect(await run('verify')).toMatchObject({ exitCode: 1, stdout: 'Missing: index leftovers_oldest.\n' })
    expect(jsonLines((await run('verify', '--json')).stdout)).toEqual([
      { finding: 'Missing: index leftovers_oldest.' },
    ])
  })

  it('usage prints the same numbers as text and as JSON', async () => {
    const bytes = 10 + 3 * 1024 ** 2
    const { stdout } = await run('usage', 'user:ann')
    expect(stdout).toContain('3.0 MiB (3,145,738 bytes) in 2 files')
    expect(jsonLines((await run('usage', 'user:ann', '--json')).stdout)).toEqual([
      { scope: 'user:ann', bytes, files: 2, reservedBytes: 0, reservedFiles: 0 },
    ])
    expect((await run('usage', 'user:unknown')).stdout).toContain('0 bytes in 0 files')
  })

  it('refuses an invalid scope', async () => {
    const ran = await run('usage', 's'.repeat(256))
    expect(ran).toMatchObject({ exitCode: 2, stdout: '' })
    expect(ran.stderr).toContain('scope must be a string of 1 to 255 characters')
  })

  it('list prints the newest objects first, filtered by status and route, up to a limit', async () => {
    const keys = async (...args: string[]) => {
      const { exitCode, stdout } = await run('list', 'user:ann', '--json', ...args)
      expect(exitCode).toBe(0)
      return (jsonLines(stdout) as { key: string }[]).map(({ key }) => key)
    }
    expect(await keys()).toEqual(['b\u001b[2J.txt', 'a.txt'])
    expect(await keys('--limit', '1')).toEqual(['b\u001b[2J.txt'])
    expect(await keys('--route', 'texts')).toEqual(['a.txt'])
    expect(await keys('--status', 'pending')).toEqual([])
  })

  it('list has what a copy of an object needs', async () => {
    const at = { bucket: 'files', key: 'copied.txt', storageKey: 'bytes/of/copied' }
    const described = { filename: 'ü.txt', contentType: 'text/plain', metadata: { color: 'red' } }
    const fields = { ...at, ...described, scope: 'user:copied', route: 'texts', size: 4, eTag: '"e"' }
    const createdAt = new Date('2015-01-01T00:00:00.001Z')
    await seeded.store.adopt({ ...fields, createdAt })
    const [line] = jsonLines((await run('list', 'user:copied', '--json')).stdout)
    expect(line).toMatchObject({ ...fields, status: 'active', createdAt: createdAt.toISOString() })
  })

  it('list escapes control characters', async () => {
    const { stdout } = await run('list', 'user:ann')
    expect(stdout).toContain('files/b\\u{1b}[2J.txt')
    expect(stdout).not.toContain('\u001b')
  })

  it('list prints every page', async () => {
    await seeded.addExpired('user:many', 2101)
    const { stdout, stderr } = await run('list', 'user:many', '--json')
    const keys = (jsonLines(stdout) as { key: string }[]).map(({ key }) => key)
    expect(new Set(keys).size).toBe(2101)
    expect(jsonLines(stderr)).toEqual([
      ...[1000, 2000, 2101].map((done) => ({ progress: { done, total: 2101 } })),
      { message: '2,101 objects.' },
    ])
    expect(jsonLines((await run('list', 'user:many', '--json', '--limit', '1500')).stdout)).toHaveLength(1500)
  })

  it('ends without an error when the reader of a list closes the pipe', async () => {
    const child = command.start(['list', 'user:many', '--json', '--schema', seeded.schema], {
      DATABASE_URL: url,
    })
    child.stdin.end()
    // Reads once, then closes the pipe, like `head -1`.
    child.stdout.once('data', () => child.stdout.destroy())
    const stderr = await new Promise<string>((resolve) => {
      let output = ''
      child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
      child.once('close', (exitCode) => resolve(`${exitCode} ${output}`))
    })
    expect(stderr).toMatch(/^0 /)
    expect(stderr).not.toMatch(/EPIPE|Error|error|Stopped/)
  })

  it('check-usage finds a wrong counter, and repair-usage corrects it', async () => {
    expect(await run('check-usage')).toMatchObject({ exitCode: 0, stdout: '' })
    const usage = `${quoted(seeded.schema)}.scope_usage`
    await pool.query(`UPDATE ${usage} SET bytes = bytes + 5 WHERE scope IN ('user:ann', 'user:bob')`)
    const found = await run('check-usage')
    expect(found.exitCode).toBe(1)
    expect(found.stdout).toMatch(
      /^user:ann\n[\s\S]*counters: [\s\S]*\nuser:bob\n {2}counters: stored {4}12 bytes/,
    )
    expect(await run('check-usage', 'user:carl')).toMatchObject({ exitCode: 0 })

    const one = await run('repair-usage', 'user:bob', '--json')
    expect(jsonLines(one.stdout)).toEqual([
      expect.objectContaining({
        scope: 'user:bob',
        actual: expect.objectContaining({ bytes: 7 }) as unknown,
      }),
    ])
    const all = await run('repair-usage')
    expect(all).toMatchObject({ exitCode: 0, stderr: 'Corrected the counters of 1 scope.\n' })
    expect(await run('check-usage')).toMatchObject({ exitCode: 0, stdout: '' })
  })

  it('repair-usage corrects row counts that usage does not include', async () => {
    const usage = `${quoted(seeded.schema)}.scope_usage`
    await pool.query(`UPDATE ${usage} SET deleted_rows = 9 WHERE scope = 'user:bob'`)
    expect(await seeded.store.countByScope('user:bob', 'deleted')).toBe(9)
    expect(await run('repair-usage')).toMatchObject({ exitCode: 0 })
    expect(await seeded.store.countByScope('user:bob', 'deleted')).toBe(0)
  })

  it('purge-expired refuses to run without a terminal or --yes', async () => {
    const before = await seeded.store.countByScope('user:many')
    const ran = await run('purge-expired')
    expect(ran).toMatchObject({ exitCode: 2, stdout: '' })
    expect(ran.stderr).toContain('--yes')
    expect(await seeded.store.countByScope('user:many')).toBe(before)
  })

  it('purge-expired --yes purges only expired reservations', async () => {
    const ran = await run('purge-expired', '--yes', '--json')
    expect(ran.exitCode).toBe(0)
    expect(jsonLines(ran.stdout)).toHaveLength(2101)
    expect(jsonLines(ran.stderr).at(-1)).toEqual({ message: 'Purged 2,101 expired reservations.' })
    expect(await seeded.store.listExpired()).toEqual([])
    expect(await seeded.store.countByScope('user:ann')).toBe(2)
    expect(await run('purge-expired', '--yes')).toMatchObject({
      exitCode: 0,
      stderr: 'No reservation has expired.\n',
    })
  })

  it('leftovers lists the keys of purged reservations', async () => {
    const { stdout } = await run('leftovers', '--json')
    expect(jsonLines(stdout)).toHaveLength(2101)
    expect(jsonLines((await run('leftovers', '--json', '--limit', '3')).stdout)).toHaveLength(3)
    expect((await run('leftovers', '--limit', '1')).stdout).toMatch(
      /writable until .* files\/expired\/\d+~\n$/,
    )
  })

  it('purge-deleted purges history up to the date', async () => {
    await seeded.addActive('user:carl', 'old.txt', 1)
    await seeded.store.remove({ bucket: 'files', key: 'old.txt' })
    const past = await run('purge-deleted', '--before', '2020-01-01')
    expect(past).toEqual({ exitCode: 0, stdout: '', stderr: 'Purged 0 rows of history.\n' })
    const removed = (await seeded.store.find({ bucket: 'files', key: 'old.txt' }))!.deletedAt!
    const ran = await run('purge-deleted', '--before', removed.toISOString(), '--json')
    expect(jsonLines(ran.stdout)).toEqual([{ dropped: 1, before: removed.toISOString() }])
    expect(await seeded.store.find({ bucket: 'files', key: 'old.txt' })).toBeNull()
  })

  const fullDevice = existsSync('/dev/full')
  const onFullDevice = fullDevice ? it : it.skip
  onFullDevice(
    `exits with 4 and reports what it did when it can't write its output${fullDevice ? '' : ' (there is no /dev/full)'}`,
    async () => {
      await seeded.addExpired('user:emil', 3)
      const line = '"$NODE" "$COMMAND" purge-expired --yes --json --schema "$SCHEMA" > /dev/full'
      const ran = await promisify(execFile)('/bin/sh', ['-c', line], {
        env: { NODE: process.execPath, COMMAND: command.file, SCHEMA: seeded.schema, DATABASE_URL: url },
      }).catch((error: { code: number; stderr: string }) => error)
      expect(ran).toMatchObject({ code: 4 })
      expect(jsonLines(ran.stderr)).toEqual([
        { message: expect.stringMatching(/^Purged 3 expired reservations/) as string },
        {
          error: {
            message: 'Unexpected error.',
            hints: ['Could not write to stdout.', expect.stringContaining('ENOSPC') as string],
          },
        },
      ])
      expect(await seeded.store.countByScope('user:emil')).toBe(0)
    },
  )

  it('accepts a confirmation only from a terminal', async () => {
    await seeded.addExpired('user:dora', 1)
    const child = command.start(['purge-expired', '--schema', seeded.schema], { DATABASE_URL: url })
    child.stdin.end('y\n')
    expect(await ended(child)).toMatchObject({ exitCode: 2, stdout: '' })
    expect(await seeded.store.countByScope('user:dora')).toBe(1)
  })
})
