import { createS3Server, db, memoryStorage } from '@svc/db'
import type { MongoClient } from 'mongodb'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { clientOf, describeMongo, freshDatabase } from './databases.js'
import { wireProxy, type Fate, type WireProxy } from './wire-proxy.js'

interface Refusal {
  /** The command in whose place Atlas responds, with code 8000. */
  readonly command: string
  readonly errmsg: string
  readonly message: string
  readonly retryable: boolean
}

const NO_PRIVILEGE = 'The MongoDB user lacks a privilege that the adapter needs.'
const OF_TIER = 'Atlas refused the operation, which its tier lacks: see the cause.'

/** What Atlas says, as its users have reported, apart from the last text: none is known of a limit of this kind. */
const REFUSALS: Readonly<Record<string, Refusal>> = {
  'a full free tier': {
    command: 'update',
    errmsg: 'you are over your space quota, using 513 MB of 512 MB',
    message: 'The Atlas cluster has no space left: see the cause.',
    retryable: true,
  },
  'a wrong password': {
    command: 'saslStart',
    errmsg: 'bad auth : Authentication failed.',
    message: 'MongoDB rejected the login.',
    retryable: false,
  },
  'a missing right': {
    command: 'find',
    errmsg: 'user is not allowed to do action [find] on [files.svc_db_objects]',
    message: NO_PRIVILEGE,
    retryable: false,
  },
  'a missing right, as the server words it': {
    command: 'find',
    errmsg: '(Unauthorized) not authorized on files to execute command { find: "svc_db_objects" }',
    message: NO_PRIVILEGE,
    retryable: false,
  },
  'a command that the tier lacks': {
    command: 'find',
    errmsg: 'CMD_NOT_ALLOWED: find',
    message: OF_TIER,
    retryable: false,
  },
  'an option that the tier lacks': {
    command: 'find',
    errmsg: 'noTimeout cursors are disallowed in this atlas tier',
    message: OF_TIER,
    retryable: false,
  },
  'too many collections': {
    command: 'update',
    errmsg: 'cannot create a new collection -- already using 501 collections of 500',
    message: 'The Atlas cluster has as many collections as its tier allows: see the cause.',
    retryable: false,
  },
  'too many connections': {
    command: 'find',
    errmsg: 'too many connections',
    message: 'Atlas refused the operation: see the cause.',
    retryable: true,
  },
}

const refused = (errmsg: string): Fate => ({
  response: { ok: 0, errmsg, code: 8000, codeName: 'AtlasError' },
})

describeMongo('Atlas, which responds in the place of the server', (url) => {
  const direct = clientOf(url)
  const own = freshDatabase(direct)
  let proxy: WireProxy
  beforeAll(async () => {
    proxy = await wireProxy(url)
    await mongoAdapter(own).migrate()
  })
  afterAll(async () => {
    await own.dropDatabase()
    await direct.close()
    await proxy.close()
  })

  /** Sends an upload request to a server whose database is behind the proxy. */
  async function upload(client: MongoClient) {
    const errors: unknown[] = []
    const store = mongoAdapter(client.db(own.databaseName))
    const s3 = createS3Server({
      storage: memoryStorage({ baseURL: 'https://files.example' }),
      bucket: 'files',
      plugins: [db({ client: store, resolveScope: () => 'ann' })],
      onError: (error) => void errors.push(error),
    })
    const response = await s3.handler(
      new Request('https://app.example/api/s3/upload', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ filename: 'a.txt', contentType: 'text/plain', size: 1 }),
      }),
    )
    return { response, errors }
  }

  const cases = Object.entries(REFUSALS).flatMap(([what, refusal]) =>
    ([7, 6] as const).map((driver) => ({ what, driver, ...refusal })),
  )
  it.each(cases)(
    '$what is a 503 with its reason for the operator, with driver $driver',
    async ({ driver, command: name, errmsg, message, retryable }) => {
      const login = name === 'saslStart' ? 'ann:wrong@' : ''
      const client = clientOf(proxy.url.replace('//', `//${login}`), {}, driver)
      onTestFinished(() => client.close())
      let count = 0
      proxy.onCommand = (command) => {
        if (!(name in command) || command[name] === 'svc_db_schema') return 'pass'
        count++
        return refused(errmsg)
      }
      const { response, errors } = await upload(client)
      proxy.onCommand = () => 'pass'
      // Once, and the login also for the `hello` that a direct connection begins with.
      expect(count).toBe(login === '' ? 1 : 2)
      expect(response.status).toBe(503)
      expect(await response.json()).toEqual({
        code: 'DATABASE_UNAVAILABLE',
        message: 'The database is unavailable.',
      })
      expect(response.headers.has('retry-after')).toBe(retryable)
      expect(errors).toEqual([
        expect.objectContaining({
          message,
          retryable,
          cause: expect.objectContaining({ message: errmsg }) as Error,
        }),
      ])
      // The same session and connections go on once Atlas accepts them.
      if (login === '') expect((await upload(client)).response.status).toBe(201)
    },
  )

  it('a filter of collections may only name one: migrate() and verify() keep to it', async () => {
    const client = clientOf(proxy.url)
    const fresh = freshDatabase(client)
    onTestFinished(async () => {
      await fresh.dropDatabase()
      await client.close()
    })
    proxy.onCommand = ({ listCollections, filter }) => {
      const isRefused =
        listCollections !== undefined && typeof (filter as { name?: unknown }).name !== 'string'
      return isRefused ? refused("can't get regex from filter doc not a regex") : 'pass'
    }
    const store = mongoAdapter(fresh, { events: true })
    await store.migrate()
    expect(await store.verify()).toEqual([])
  })
})
