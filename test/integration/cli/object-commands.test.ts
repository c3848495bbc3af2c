import { createAttemptId } from '@svc/db'
import { postgresAdapter } from '@svc/db/postgres'
import { beforeAll, describe, expect, it } from 'vitest'
import { describePostgres } from '../postgres/schemas.js'
import { blocksOf } from '../readme/documents.js'
import { buildCommand, jsonLines } from './command.js'
import { seededSchema } from './seeded-schema.js'

describePostgres('svc-db on objects and scopes', (url) => {
  const command = buildCommand()
  const seeded = seededSchema(url)
  beforeAll(async () => {
    await seeded.addActive('user:ann', 'a.txt', 10)
    await seeded.addActive('user:bob', 'b.txt', 20)
  })
  const run = (...args: string[]) => command.run([...args, '--schema', seeded.schema], { DATABASE_URL: url })

  it('scopes lists scopes after one, up to a limit', async () => {
    const scopes = async (...args: string[]) =>
      (jsonLines((await run('scopes', '--json', ...args)).stdout) as { scope: string }[]).map(
        ({ scope }) => scope,
      )
    expect(await scopes()).toEqual(['user:ann', 'user:bob'])
    expect(await scopes('--limit', '1')).toEqual(['user:ann'])
    expect(await scopes('--after', 'user:ann')).toEqual(['user:bob'])
    expect((await run('scopes')).stdout).toContain('10 bytes  1 active  0 pending  0 deleted  user:ann')
  })

  it('update sets and clears fields', async () => {
    const update = async (...args: string[]) => run('update', 'files', 'a.txt', '--json', ...args)
    const first = await update('--filename', 'A.txt', '--metadata', '{"color":"red"}')
    expect(jsonLines(first.stdout)).toMatchObject([{ filename: 'A.txt', metadata: { color: 'red' } }])
    const second = await update('--clear', 'filename', 'metadata', '--content-type', 'text/plain')
    expect(jsonLines(second.stdout)).toMatchObject([
      { filename: null, contentType: 'text/plain', metadata: null },
    ])
    expect(await update('--scope', 'user:bob', '--filename', 'B.txt')).toMatchObject({
      exitCode: 1,
      stdout: '',
    })
  })

  it.each([
    ['nothing to set', [], 'Give at least one of'],
    ['a field that is set and cleared', ['--filename', 'a', '--clear', 'filename'], "can't be combined"],
    ['metadata that is no JSON', ['--metadata', '{'], 'Must be a JSON object of strings'],
    ['metadata of numbers', ['--metadata', '{"a":1}'], 'metadata must have strings as values'],
    ['a type that is no media type', ['--content-type', 'jpeg'], "'jpeg' is invalid. Must be a media type"],
    ['a filename that is too long', ['--filename', 'a'.repeat(1025)], 'filename must be a string of 1 to'],
    ['a field that can not be cleared', ['--clear', 'key'], 'Allowed choices are'],
  ])('update refuses %s', async (_what, args, message) => {
    const ran = await run('update', 'files', 'a.txt', ...args)
    expect(ran).toMatchObject({ exitCode: 2, stdout: '' })
    expect(ran.stderr).toContain(message)
  })

  it('transfer gives an object to another scope, and can be repeated', async () => {
    for (const _try of ['first', 'repeated']) {
      const ran = await run('transfer', 'files', 'b.txt', '--from', 'user:bob', '--to', 'user:cleo')
      expect(ran).toMatchObject({ exitCode: 0, stdout: 'files/b.txt now belongs to user:cleo.\n' })
    }
    expect(await seeded.store.getScopeUsage('user:bob')).toMatchObject({ bytes: 0, files: 0 })
    expect(await seeded.store.getScopeUsage('user:cleo')).toMatchObject({ bytes: 20, files: 1 })
    expect(await run('transfer', 'files', 'c.txt', '--from', 'user:bob', '--to', 'user:cleo')).toMatchObject({
      exitCode: 1,
      stderr: 'There is no such object.\n',
    })
    expect(await run('transfer', 'files', 'b.txt', '--from', 'user:bob')).toMatchObject({ exitCode: 2 })
  })
})

describePostgres('svc-db arrived', (url) => {
  const command = buildCommand()
  const { schema, store } = seededSchema(url)
  const run = (...args: string[]) =>
    command.run(['arrived', ...args, '--schema', schema], { DATABASE_URL: url })
  const arrive = async (scope: string, key: string, checkSeconds: number) => {
    const expiresAt = new Date(Date.now() + 3_600_000)
    const at = { scope, bucket: 'files', key }
    const terms = { declaredSize: 3, expiresAt, storageKey: `${key}~`, checkSeconds }
    const { id } = await store.reserve({ ...at, ...terms })
    await store.confirm({ ...at, id, size: 3 })
    return id
  }

  it('lists what waits for its check, and rejects one', async () => {
    const [late, early] = [await arrive('user:ann', 'a.txt', 7200), await arrive('user:bob', 'b.txt', 60)]
    const listed = async (...args: string[]) =>
      (jsonLines((await run('--json', ...args)).stdout) as { id: string }[]).map(({ id }) => id)
    expect(await listed()).toEqual([early, late])
    expect(await listed('--scope', 'user:ann', '--limit', '1')).toEqual([late])
    expect((await run()).stdout).toContain('3 bytes  user:bob  files/b.txt')

    expect(await run('--reject', early, '--scope', 'user:ann')).toMatchObject({ exitCode: 1, stdout: '' })
    const rejected = await run('--reject', early, '--reason', 'Contains a virus.')
    expect(rejected.exitCode).toBe(0)
    const confirm = { bucket: 'files', key: 'b.txt', id: early, scope: 'user:bob', size: 3 }
    await expect(store.confirm(confirm)).rejects.toMatchObject({
      code: 'UPLOAD_REJECTED',
      params: { reason: 'Contains a virus.' },
    })
    expect(await listed()).toEqual([late])
    expect(await run('--reject', early)).toMatchObject({ exitCode: 1, stdout: '' })
  })

  it.each([
    ['an id that is none', ['--reject', 'a.txt'], '--reject must be the id of an upload'],
    ['a reason without an id', ['--reason', 'No.'], '--reason needs --reject'],
    [
      'a limit of what it rejects',
      ['--limit', '1', '--reject', '019b7d00-0000-7000-8000-000000000001'],
      "--limit can't",
    ],
  ])('refuses %s before it connects', async (_what, args, message) => {
    const ran = await command.run(['arrived', ...args], { DATABASE_URL: 'postgres://127.0.0.1:1/files' })
    expect(ran).toMatchObject({ exitCode: 2, stdout: '' })
    expect(ran.stderr).toContain(message)
  })
})

describePostgres('svc-db events', (url) => {
  const command = buildCommand()
  const seeded = seededSchema(url, { events: true })
  beforeAll(async () => {
    await seeded.addActive('user:ann', 'a\u001b.txt', 10)
    await seeded.addActive('user:ann', 'b.txt', 20)
  })
  const run = (...args: string[]) =>
    command.run(['events', ...args, '--schema', seeded.schema], { DATABASE_URL: url })

  it('counts and lists events, and changes nothing', async () => {
    await seeded.store.claimEvents({ limit: 1 })
    const listed = await run()
    expect(listed.exitCode).toBe(0)
    expect(listed.stdout).toContain('1 waiting, 1 claimed, 0 retrying')
    expect(listed.stdout).toContain('activated')
    expect(listed.stdout).toContain('files/a\\u{1b}.txt')
    const [counts, ...events] = jsonLines((await run('--json')).stdout)
    expect(counts).toEqual({ waiting: 1, claimed: 1, retrying: 0 })
    expect(events).toMatchObject([
      { type: 'activated', object: { key: 'a\u001b.txt' } },
      { type: 'activated', object: { key: 'b.txt' } },
    ])
    expect(jsonLines((await run('--json', '--limit', '1')).stdout)).toHaveLength(2)
  })

  describe('of docs/events.md', () => {
    const { pool, schema } = seededSchema(url, { events: true })

    it('are printed as shown there', async () => {
      const time = (after: string) => new Date(`2026-03-01T12:${after}.000Z`)
      const [created, removed, due] = [time('00:00'), time('00:07'), time('04:16')]
      const at = (now: Date) => postgresAdapter(pool, { schema, now: () => now })
      const report = { bucket: 'uploads', key: 'report.pdf' }
      const id = createAttemptId()
      const attempt = { ...report, id, scope: 'user:ann', declaredSize: 1, expiresAt: due }
      await at(created).reserve(attempt)
      await at(created).confirm({ ...report, id, size: 1 })
      await at(removed).remove(report)
      for (let attempts = 0; attempts < 9; attempts++) {
        const [event] = await at(removed).claimEvents({ claimSeconds: 1 })
        await at(removed).settleEvents([{ ...event!, retryAt: attempts === 8 ? due : removed }])
      }
      const { stdout, stderr } = await command.run(['events', '--schema', schema], { DATABASE_URL: url })
      const [documented] = blocksOf('docs/events.md', 'text')
      expect(`$ svc-db events\n${stdout}${stderr}`).toBe(documented)
    })
  })

  it('are turned on and off by migrate', async () => {
    const migrate = (...args: string[]) =>
      command.run(['migrate', ...args, '--schema', seeded.schema], { DATABASE_URL: url })
    const events = async () => {
      const { waiting, claimed } = await seeded.store.countEvents()
      return waiting + claimed
    }
    const before = await events()
    expect(await migrate('--events', 'off')).toMatchObject({ exitCode: 0, stderr: 'Events are off.\n' })
    await seeded.addActive('user:ann', 'c.txt', 10)
    expect(await migrate()).toMatchObject({ exitCode: 0, stderr: '' })
    expect(await events()).toBe(before)
    expect(await migrate('--events', 'on')).toMatchObject({ exitCode: 0, stderr: 'Events are on.\n' })
    await seeded.addActive('user:ann', 'd.txt', 10)
    expect(await events()).toBe(before + 1)
    const text = async (...args: string[]) => (await command.run(['schema', ...args])).stdout
    const [plain, on] = [await text(), await text('--events', 'on')]
    expect(on.startsWith(plain)).toBe(true)
    expect(on.slice(plain.length)).toContain('CREATE TRIGGER record_insert')
    expect(await migrate('--events', 'maybe')).toMatchObject({ exitCode: 2 })
  })
})
