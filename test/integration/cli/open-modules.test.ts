import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PutObjectCommand } from '@aws-sdk/client-s3'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describePostgres } from '../postgres/schemas.js'
import { clientOf, describeS3, freshBucket } from '../s3/s3-server.js'
import { buildCommand, ended, endedUnread } from './command.js'
import { seededSchema } from './seeded-schema.js'

/** Far more than pipes hold, so a process that doesn't wait for its reader loses some, in characters. */
const LONG = 8 * 1024 * 1024

/** Asks a database, through a pool whose connections stay open. */
const POOL = `
import pg from ${JSON.stringify(import.meta.resolve('pg'))}
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, idleTimeoutMillis: 0 })
const { rows } = await pool.query("SELECT 'user:1' AS scope")
`

describePostgres('svc-db with a module that keeps a pool open', (url) => {
  describeS3('on S3', (server) => {
    const client = clientOf(server)
    const bucket = freshBucket(client)
    const folder = mkdtempSync(join(tmpdir(), 'svc-db-map-'))
    const command = buildCommand()
    const seeded = seededSchema(url)
    beforeAll(async () => {
      for (const Key of ['a', 'b'])
        await client.send(new PutObjectCommand({ Bucket: bucket, Key, Body: Key }))
    })
    afterAll(() => rmSync(folder, { recursive: true }))

    function start(name: string, select: string, ...args: string[]) {
      const map = join(folder, `${name}.mjs`)
      writeFileSync(map, `${POOL}\n${select}`)
      const ofBucket = ['--bucket', bucket, '--s3-endpoint', server.endpoint, '--map', map]
      const child = command.start([...args, ...ofBucket, '--schema', seeded.schema], {
        DATABASE_URL: url,
        AWS_ACCESS_KEY_ID: server.owner.accessKeyId,
        AWS_SECRET_ACCESS_KEY: server.owner.secretAccessKey,
        AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
      })
      child.stdin.end()
      return child
    }

    it('ends when it has printed its result', async () => {
      const select = 'export default async () => rows[0]'
      expect(await ended(start('owner', select, 'import'))).toEqual({
        exitCode: 0,
        stdout: '',
        stderr: 'Imported 2, known 0, skipped 0, failed 0.\n',
      })
      expect(await ended(start('owner', select, 'check-storage'))).toMatchObject({ exitCode: 0 })
    })

    it('ends on one Ctrl+C', async () => {
      const child = start(
        'waiting',
        `export default async () => {
          console.log('waiting')
          await new Promise((resolve) => process.once('SIGINT', resolve))
          return null
        }`,
        ...['import', '--concurrency', '1'],
      )
      await once(child.stdout, 'readable')
      child.kill('SIGINT')
      expect(await ended(child)).toMatchObject({ exitCode: 130, stdout: 'waiting\n' })
    })

    describe('writes all of its output', () => {
      const failing = `export default () => { throw new Error('x'.repeat(${LONG})) }`

      it('of a result that is longer than what a pipe holds', async () => {
        const { exitCode, stdout } = await ended(start('failing', failing, 'import'))
        expect({ exitCode, length: stdout.length }).toEqual({
          exitCode: 1,
          length: 2 * `failed  ${bucket}/a: ${'x'.repeat(LONG)}\n`.length,
        })
      })

      it('of an error that is longer than what a pipe holds', async () => {
        const child = start('broken', `throw new Error('x'.repeat(${LONG}))`, 'import')
        const { exitCode, stderr } = await ended(child)
        expect(exitCode).toBe(2)
        expect(stderr).toMatch(/x\n$/)
        expect(stderr.length).toBeGreaterThan(LONG)
      })

      it('except for what nobody reads, and keeps its exit code', async () => {
        expect(await endedUnread(start('failing', failing, 'import'))).toEqual({
          exitCode: 1,
          stderr: 'Imported 0, known 0, skipped 0, failed 2.\n',
        })
      })
    })
  })
})
