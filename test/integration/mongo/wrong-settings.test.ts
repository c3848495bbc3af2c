import { join } from 'node:path'
import { StorageError, type StorageObjectStore } from '@svc/db'
import { MongoClient, type MongoClientOptions } from 'mongodb'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createMongoDriver } from '../../../src/adapters/mongo/driver.js'
import { openNamespace } from '../../../src/adapters/mongo/connection/namespace.js'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { createStore } from '../../../src/core/store/create-store.js'
import { createAuthority, OPENSSL, type CertificateAuthority } from '../../servers/certificates.js'
import { findServer } from '../../servers/found-server.js'
import { installedMongod, startMember, startStandalone } from '../../servers/mongod.js'
import { privateFolder, startInFolder, type PrivateFolder } from '../../servers/private-server.js'
import { clientOf, describeMongo, freshDatabase } from './databases.js'

const EXPIRES = new Date('2100-01-01')
const reserve = (store: StorageObjectStore) =>
  store.reserve({ scope: 'ann', bucket: 'files', key: 'a', declaredSize: 1, expiresAt: EXPIRES })

/** Returns what calls of a store report, whose driver gives up before the adapter does, or after it. */
async function failureOf(url: string, givesUpFirst: 'driver' | 'adapter', options: MongoClientOptions = {}) {
  const limit = givesUpFirst === 'driver' ? { serverSelectionTimeoutMS: 500 } : {}
  const client = new MongoClient(url, { ...options, ...limit })
  onTestFinished(() => client.close())
  const timeout = givesUpFirst === 'driver' ? 30_000 : 1500
  const driver = createMongoDriver({ namespace: openNamespace(client.db('files'), 'svc_db_'), timeout })
  const failure: unknown = await createStore(driver)
    .getScopeUsage('ann')
    .catch((reason: unknown) => reason)
  expect(failure).toBeInstanceOf(StorageError)
  expect(failure).toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
  return failure as StorageError
}

describeMongo('a URL that names the wrong server', (url) => {
  const wrong = (change: (given: URL) => void) => {
    const changed = new URL(url.replace(/,[^/]*/, ''))
    change(changed)
    return changed.href
  }
  const rows = [
    [
      'host',
      wrong((given) => (given.hostname = 'nowhere.invalid')),
      /^No server of MongoDB responds: nowhere\.invalid:\d+ \(getaddrinfo E/,
      true,
    ],
    [
      'port',
      wrong((given) => (given.port = '1')),
      /^No server of MongoDB responds: 127\.0\.0\.1:1 \(connect ECONNREFUSED/,
      true,
    ],
    [
      'set',
      wrong((given) => given.searchParams.set('replicaSet', 'another')),
      /^None of the servers in the URL is a member of the replica set "another"\./,
      false,
    ],
    ['TLS setting', wrong((given) => given.searchParams.set('tls', 'true')), /TLS/, null],
  ] as const
  for (const [what, given, message, retryable] of rows) {
    it.each(['driver', 'adapter'] as const)(
      `${what}: the error says so when the %s gives up`,
      async (first) => {
        const failure = await failureOf(given, first)
        expect(failure.message).toMatch(message)
        // A read has no effect that could be unknown.
        expect(failure.message).not.toContain('unknown')
        if (retryable !== null) expect(failure.retryable).toBe(retryable)
        if (what !== 'set') expect(failure.cause).toBeInstanceOf(Error)
      },
    )
  }

  it('a file of the certificate that does not exist', async () => {
    const failure = await failureOf(url, 'driver', { tls: true, tlsCAFile: '/nowhere/ca.pem' })
    expect(failure).toMatchObject({
      message: expect.stringContaining("such as tlsCAFile, can't be read") as string,
      retryable: false,
      cause: { code: 'ENOENT' },
    })
  })
})

const openssl = await findServer(OPENSSL)
const program = installedMongod()
const hasTls = 'url' in openssl && program !== null

describe.skipIf(!hasTls)(
  `a server that requires TLS${hasTls ? '' : ' (skipped: PATH has no openssl or no mongod)'}`,
  () => {
    let folder: PrivateFolder
    let authority: CertificateAuthority
    let port: number
    beforeAll(async () => {
      folder = await privateFolder('mongod-tls', null)
      authority = await createAuthority('url' in openssl ? openssl.url : '', folder)
      const { certificate, key } = await authority.sign('localhost', 30)
      const pair = join(folder.path, 'server.pem')
      await folder.run('sh', ['-c', 'cat "$0" "$1" > "$2"', certificate, key, pair])
      const data = join(folder.path, 'data')
      await folder.run('mkdir', [data])
      const settings = [
        '--tlsMode',
        'requireTLS',
        '--tlsCertificateKeyFile',
        pair,
        '--tlsCAFile',
        authority.certificate,
      ]
      const server = await folder.serveOnFreePort(
        program!,
        (port) => [
          ...['--port', String(port), '--bind_ip', 'localhost', '--nounixsocket', '--dbpath', data],
          ...['--wiredTigerCacheSizeGB', '0.25', '--tlsAllowConnectionsWithoutCertificates', ...settings],
        ],
        async (port) => {
          const client = new MongoClient(`mongodb://localhost:${port}/`, {
            ...{ tls: true, tlsCAFile: authority.certificate, serverSelectionTimeoutMS: 500 },
          })
          const isReady = await client.connect().then(
            () => true,
            () => false,
          )
          await client.close()
          return isReady
        },
      )
      port = server.port
    })
    afterAll(() => folder.remove('SIGINT'))

    it.each([
      ['no TLS', 'localhost', {}, /closed\)\. Check whether the server requires or accepts TLS\./, true],
      [
        'its CA is unknown',
        'localhost',
        { tls: true },
        /^The certificate of MongoDB is not from a CA/,
        false,
      ],
      [
        'another host name',
        '127.0.0.1',
        'own CA',
        /^The certificate of MongoDB is for another host name/,
        false,
      ],
    ] as const)('%s', async (_what, host, given, message, retryable) => {
      const options = given === 'own CA' ? { tls: true, tlsCAFile: authority.certificate } : given
      const failure = await failureOf(`mongodb://${host}:${port}/`, 'driver', options)
      expect(failure.message).toMatch(message)
      expect(failure.retryable).toBe(retryable)
    })
  },
)

describe.skipIf(program === null)(
  `a server without a replica set${program === null ? ' (skipped: PATH has no mongod)' : ''}`,
  () => {
    it('a standalone server with restored data: every call says so', async () => {
      const server = await startStandalone(program!)
      const client = clientOf(server.url)
      try {
        const db = freshDatabase(client)
        await db
          .collection<{ _id: string }>('svc_db_schema')
          .insertOne({ _id: 'version', version: 2, minCompatible: 1 } as never)
        for (const collection of ['objects', 'history', 'leftovers'])
          await db.createCollection(`svc_db_${collection}`)
        const store = mongoAdapter(clientOfStandalone(server.url).db(db.databaseName))
        for (const call of [
          () => reserve(store),
          () => store.find({ bucket: 'files', key: 'a' }),
          () => store.getScopeUsage('ann'),
          () => store.listByScope({ scope: 'ann' }),
          () => store.checkUsage(),
          () => store.remove({ bucket: 'files', key: 'a' }),
          () => store.migrate(),
        ]) {
          await expect(call()).rejects.toMatchObject({
            code: 'DATABASE_UNAVAILABLE',
            message: expect.stringContaining('must be a replica set') as string,
            retryable: false,
          })
        }
      } finally {
        await client.close()
        await server.stop()
      }
    })

    it('a member that was never added to a set: the error says what to run', async () => {
      await startInFolder('mongod', null, async (folder) => {
        const settings = ['--replSet', 'tests', '--wiredTigerCacheSizeGB', '0.25']
        const { url } = await startMember(folder, program!, 'data', settings)
        const throughSet = url.replace('directConnection=true', 'replicaSet=tests')
        expect((await failureOf(throughSet, 'driver')).message).toContain('run rs.initiate()')
        const direct = mongoAdapter(clientOfStandalone(url).db('files'))
        await expect(direct.getScopeUsage('ann')).rejects.toThrow('run rs.initiate()')
        expect(await direct.verify()).toEqual([expect.stringContaining('run rs.initiate()')])
        await folder.remove('SIGINT')
      })
    })
  },
)

function clientOfStandalone(url: string): MongoClient {
  const client = new MongoClient(url)
  onTestFinished(() => client.close())
  return client
}
