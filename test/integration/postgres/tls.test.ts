import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { buildCommand } from '../cli/command.js'
import { createAuthority, OPENSSL, type CertificateAuthority } from '../../servers/certificates.js'
import { findServer } from '../../servers/found-server.js'
import { userOfServer } from '../../servers/postgres.js'
import { startPrivateCluster } from '../../servers/private-cluster.js'
import { privateFolder, type PrivateFolder } from '../../servers/private-server.js'
import { errorOf } from './attempt.js'
import { describePrivatePostgres, poolOf } from './schemas.js'

const openssl = await findServer(OPENSSL)
const program = 'url' in openssl ? openssl.url : ''

describe.skipIf(program === '')(`TLS${'reason' in openssl ? ` (${openssl.reason})` : ''}`, () => {
  describePrivatePostgres('with a server', (programs) => {
    const command = buildCommand()
    let started: Awaited<ReturnType<typeof startPrivateCluster>>
    let folder: PrivateFolder
    let authority: CertificateAuthority
    let url: string
    beforeAll(async () => {
      started = await startPrivateCluster(programs)
      await asAdmin('CREATE ROLE app LOGIN')
      const own = new URL(started.cluster.url)
      own.hostname = 'localhost'
      own.username = 'app'
      url = own.href
      folder = await privateFolder('certificates', userOfServer())
      authority = await createAuthority(program, folder)
    })
    afterAll(async () => {
      await started.remove()
      await folder.remove('SIGTERM')
    })

    /** Runs a statement on a new connection and returns the first value. */
    async function asAdmin(text: string): Promise<unknown> {
      const client = new pg.Client({ connectionString: started.cluster.url })
      await client.connect()
      const { rows } = await client.query<unknown[]>({ text, rowMode: 'array' })
      await client.end()
      return rows[0]?.[0]
    }

    /** Changes the server's TLS and who may log in as `app`, and waits until new connections meet that. */
    async function configure(settings: Readonly<Record<string, string>>, access = 'host') {
      const loadedAt = () => asAdmin('SELECT pg_conf_load_time()::text')
      const before = await loadedAt()
      for (const [name, value] of Object.entries(settings)) {
        await asAdmin(`ALTER SYSTEM SET ${name} = '${value}'`)
      }
      const lines = `ARRAY['host all postgres all trust', '${access} all app all trust']`
      const file = await asAdmin('SHOW hba_file')
      await asAdmin(`COPY (SELECT unnest(${lines})) TO '${String(file)}'`)
      await asAdmin('SELECT pg_reload_conf()')
      await expect.poll(loadedAt).not.toBe(before)
    }
    async function serve(host: string, days: number, access?: string) {
      const { certificate, key } = await authority.sign(host, days)
      await configure({ ssl: 'on', ssl_cert_file: certificate, ssl_key_file: key }, access)
    }
    const withCA = () => `${url}?sslmode=verify-full&sslrootcert=${authority.certificate}`

    const ofPg = (given: string) => {
      const pool = poolOf(given)
      onTestFinished(() => pool.end())
      return postgresAdapter(pool)
    }
    const ofPostgresJs = (ssl: 'verify-full' | { ca: string } | false) => {
      const sql = postgres(url, { ssl })
      onTestFinished(() => sql.end({ timeout: 0 }))
      return postgresAdapter(sql)
    }
    const ofBoth = () => [ofPg(withCA()), ofPostgresJs({ ca: readFileSync(authority.certificate, 'utf8') })]

    async function expectUnusable(given: string, message: string) {
      const ran = await command.run(['verify'], { DATABASE_URL: given })
      expect(ran).toMatchObject({ exitCode: 5, stdout: '' })
      expect(ran.stderr).toContain(message)
    }

    it('connects with the CA of the server, and says to pass it otherwise', async () => {
      await serve('localhost', 30)
      for (const store of ofBoth()) await store.ping()
      const failure = {
        message: expect.stringContaining('Pass the certificate of that CA') as string,
        retryable: false,
      }
      const strict = `${url}?sslmode=verify-full`
      for (const store of [ofPg(strict), ofPostgresJs('verify-full')]) {
        expect(await errorOf(store.ping())).toMatchObject(failure)
      }
      await expectUnusable(strict, 'Pass the certificate of that CA')
      const environment = { DATABASE_URL: strict, AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b' }
      const bucket = ['--bucket', 'files', '--s3-endpoint', 'http://127.0.0.1:1']
      const { exitCode, stdout } = await command.run(['doctor', ...bucket], environment)
      expect(exitCode).toBe(1)
      expect(stdout).toMatch(
        /^database: .*Pass the certificate of that CA.*\nbucket: .* can't be reached.*\n$/,
      )
    })

    it.each([
      ['is for another host name', 'db.example', 30, 'Connect to a name that it contains'],
      ['has expired', 'localhost', -1, 'Renew it'],
    ])('says what to do if the certificate %s', async (_what, host, days, message) => {
      await serve(host, days)
      for (const store of ofBoth()) {
        const error = await errorOf(store.ping())
        expect(error).toMatchObject({ message: expect.stringContaining(message) as string, retryable: false })
      }
      await expectUnusable(withCA(), message)
    })

    it('says if the server does not accept TLS', async () => {
      await configure({ ssl: 'off' })
      const [first, second] = await Promise.all(ofBoth().map((store) => errorOf(store.ping())))
      expect(first!.message).toContain('does not accept TLS')
      // postgres.js only sees that the connection ends, which a network can do as well.
      expect(second).toMatchObject({
        message: expect.stringContaining('accepts TLS') as string,
        retryable: true,
      })
      await expectUnusable(withCA(), 'does not accept TLS')
    })

    it('names TLS if the server requires it', async () => {
      await serve('localhost', 30, 'hostssl')
      for (const store of ofBoth()) await store.ping()
      for (const store of [ofPg(url), ofPostgresJs(false)]) {
        expect(await errorOf(store.ping())).toMatchObject({ cause: { code: '28000' }, retryable: false })
      }
      await expectUnusable(url, 'with TLS or without')
    })

    it.each(['nowhere.crt', '.'])('says that the file of the CA can not be read: %s', async (name) => {
      const given = `${url}?sslmode=verify-full&sslrootcert=${join(folder.path, name)}`
      expect(await errorOf(ofPg(given).ping())).toMatchObject({ retryable: false })
      await expectUnusable(given, 'such as sslrootcert')
    })
  })
})
