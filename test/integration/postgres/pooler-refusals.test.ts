import { createServer, type AddressInfo, type Server } from 'node:net'
import pg from 'pg'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { findServer, type RunningServer } from '../../servers/found-server.js'
import { pgbouncerOver, type PgbouncerOptions } from '../../servers/pgbouncer.js'
import { describeSkipped } from '../../servers/describe-with-server.js'
import { errorOf } from './attempt.js'
import { poolOf } from './schemas.js'

const DRIVERS = {
  pg(url: string) {
    const pool = poolOf(url)
    onTestFinished(() => pool.end())
    return postgresAdapter(pool, { namedStatements: false })
  },
  'postgres.js'(url: string) {
    const sql = postgres(url, { prepare: false, fetch_types: false })
    onTestFinished(() => sql.end({ timeout: 0 }))
    return postgresAdapter(sql)
  },
}

const LASTING = { retryable: false }
const PASSING = { retryable: true }

const server = inject('postgres')
const password = 'right'
const pooler = server.url === null ? server : await startPooler(server.url, { connections: 1, password })
const full =
  server.url === null
    ? server
    : await startPooler(server.url, { connections: 1, settings: ['query_wait_timeout = 1'] })

afterAll(async () => {
  for (const each of [pooler, full]) if ('stop' in each) await each.stop()
})

function startPooler(database: string, options: PgbouncerOptions) {
  return findServer(pgbouncerOver(database, options))
}

if ('stop' in pooler && 'stop' in full) {
  describe.each(Object.entries(DRIVERS))('refusals of PgBouncer over %s', (...driver) => {
    behind(pooler, full, ...driver)
  })
} else {
  describeSkipped('refusals of PgBouncer', 'reason' in pooler ? pooler.reason : '')
}

function behind(
  { url }: RunningServer,
  { url: fullUrl }: RunningServer,
  _name: string,
  open: (typeof DRIVERS)[keyof typeof DRIVERS],
) {
  const changed = (change: Partial<Record<'username' | 'password' | 'pathname', string>>) =>
    Object.assign(new URL(url), change).href

  it.each([
    ['no such user', { username: 'nobody' }, 'The database rejected the login.'],
    ['a wrong password', { password: 'wrong' }, 'The database rejected the login.'],
    ['no such database', { pathname: '/nowhere' }, 'The database does not exist.'],
  ])('%s lasts until an operator acts', async (_what, change, message) => {
    await open(url).ping()
    expect(await errorOf(open(changed(change)).ping())).toMatchObject({ message, ...LASTING })
  })

  it('a full pool may have room later', async () => {
    const holder = new pg.Client({ connectionString: fullUrl })
    await holder.connect()
    await holder.query('BEGIN')
    const store = open(fullUrl)
    expect(await errorOf(store.ping())).toMatchObject(PASSING)
    await holder.query('ROLLBACK')
    await holder.end()
    const responds = () =>
      store.ping().then(
        () => true,
        () => false,
      )
    await expect.poll(responds).toBe(true)
  })
}

/** What Supavisor and Neon send to a login: an error of severity FATAL, without the field that no server translates. */
const REFUSAL = ['SFATAL', 'CXX000', 'MMax client connections reached'].join('\0')

describe.each(Object.entries(DRIVERS))('a pooler that is full refuses %s with XX000', (_name, open) => {
  let listener: Server
  let logins = 0
  beforeAll(async () => {
    listener = createServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => {
        logins++
        const body = Buffer.from(`${REFUSAL}\0\0`)
        const header = Buffer.from('E\0\0\0\0')
        header.writeInt32BE(body.length + 4, 1)
        socket.end(Buffer.concat([header, body]))
      })
    })
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  })
  afterAll(() => new Promise((resolve) => listener.close(resolve)))

  it('which is an unavailable database, and is tried once more', async () => {
    const { port } = listener.address() as AddressInfo
    const error = await errorOf(open(`postgres://app:secret@127.0.0.1:${port}/files`).ping())
    expect(error).toMatchObject({ code: 'DATABASE_UNAVAILABLE', cause: { code: 'XX000' }, ...PASSING })
    expect(logins).toBe(2)
  })
})
