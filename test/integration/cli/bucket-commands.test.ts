import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  ListPartsCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postgresAdapter } from '../../../src/adapters/postgres/index.js'
import { describePostgres } from '../postgres/schemas.js'
import { clientOf, describeS3, freshBucket } from '../s3/s3-server.js'
import { buildCommand, ended, jsonLines } from './command.js'
import { seededSchema } from './seeded-schema.js'

const SELECT = `export default ({ key }) => {
  const [folder, user] = key.split('/')
  if (user === 'nobody') throw new Error('no such user')
  const scope = (process.env.OWNER ?? 'user:') + user
  return folder === 'users' ? { scope, createdAt: new Date('2015-01-01') } : null
}`

describePostgres('svc-db with a bucket', (url) => {
  describeS3('on S3', (server) => {
    const client = clientOf(server)
    const bucket = freshBucket(client)
    const folder = mkdtempSync(join(tmpdir(), 'svc-db-map-'))
    const map = join(folder, 'select.mjs')
    const command = buildCommand()
    const seeded = seededSchema(url)

    const put = (key: string, body = 'hello') =>
      client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: body }))
    const keys = ['users/1/a.txt', "users/1/it's.txt", 'users/2/\u0001.txt', 'users/2/b.txt', 'users/3/c.txt']
    beforeAll(async () => {
      writeFileSync(map, SELECT)
      for (const key of [...keys, 'logs/today', 'users/nobody/x']) await put(key)
    })
    afterAll(() => rmSync(folder, { recursive: true }))

    const environment = {
      DATABASE_URL: url,
      AWS_ACCESS_KEY_ID: server.owner.accessKeyId,
      AWS_SECRET_ACCESS_KEY: server.owner.secretAccessKey,
      AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
    }
    const ofBucket = ['--bucket', bucket, '--s3-endpoint', server.endpoint]
    const run = (...args: string[]) => command.run([...args, '--schema', seeded.schema], environment)
    const importing = (...args: string[]) => run('import', ...ofBucket, '--map', map, ...args)
    const scopesOf = async () => (await seeded.store.listScopes()).map(({ scope }) => scope)

    it('import counts in a dry run, and then records what the module selects', async () => {
      expect(await importing('--dry-run')).toEqual({
        exitCode: 1,
        stdout: `failed  ${bucket}/users/nobody/x: no such user\n`,
        stderr: 'Would import 5, known 0, skipped 1, failed 1.\n',
      })
      expect(await scopesOf()).toEqual([])
      const { exitCode, stdout } = await importing('--json')
      expect(exitCode).toBe(1)
      const error = { message: 'no such user' }
      expect(jsonLines(stdout)).toEqual([
        { failed: { bucket, key: 'users/nobody/x', error } },
        { imported: 5, known: 0, differs: 0, skipped: 1, failed: 1, after: 'users/nobody/x' },
      ])
      expect(await scopesOf()).toEqual(['user:1', 'user:2', 'user:3'])
      expect(await importing('--key-prefix', 'users/2/')).toEqual({
        exitCode: 0,
        stdout: '',
        stderr: 'Imported 0, known 2, skipped 0, failed 0.\n',
      })
      const { objects } = await seeded.store.listByScope({ scope: 'user:3' })
      expect(objects).toMatchObject([{ createdAt: new Date('2015-01-01') }])
    })

    it('import counts what is recorded otherwise than the module selects', async () => {
      const args = [
        'import',
        ...ofBucket,
        '--map',
        map,
        '--key-prefix',
        'users/2/',
        '--schema',
        seeded.schema,
      ]
      for (const dryRun of [['--dry-run'], []]) {
        const { stderr } = await command.run([...args, ...dryRun], { ...environment, OWNER: 'team:' })
        expect(stderr).toMatch(/known 2, differs 2, skipped 0, failed 0\.\n$/)
      }
      expect(await scopesOf()).toEqual(['user:1', 'user:2', 'user:3'])
    })

    it('check-storage lists the differences', async () => {
      await put('users/1/a.txt', 'other bytes')
      const { exitCode, stdout } = await run('check-storage', ...ofBucket, '--older-than', '0', '--json')
      expect(exitCode).toBe(1)
      expect(jsonLines(stdout)).toMatchObject([
        { kind: 'unrecorded', bucket, storageKey: 'logs/today', item: { size: 5 } },
        { kind: 'changed', storageKey: 'users/1/a.txt', object: { size: 5 }, item: { size: 11 } },
        { kind: 'unrecorded', storageKey: 'users/nobody/x' },
        { items: 7, rows: 5, missing: 0, changed: 1, unrecorded: 2 },
      ])
      expect(await run('check-storage', ...ofBucket, '--key-prefix', 'users/2/')).toEqual({
        exitCode: 0,
        stdout: '',
        stderr: 'Compared 2 items of the bucket with 2 rows: 0 missing, 0 changed, 0 unrecorded.\n',
      })
    })

    it('clean-up settles what the buckets that it may touch have, and fails for others', async () => {
      const yesterday = new Date(Date.now() - 86_400_000)
      const { pool, schema } = seeded
      const store = postgresAdapter(pool, { schema, now: () => yesterday })
      const begin = (name: string, key: string) => {
        const attempt = { scope: 'user:9', bucket: name, key, declaredSize: 5, storageKey: key }
        return store.reserve({
          ...attempt,
          contentType: 'text/plain',
          expiresAt: new Date(yesterday.getTime() + 1000),
        })
      }
      const { id } = await begin(bucket, 'uploads/finished')
      await client.send(
        new PutObjectCommand({
          ...{ Bucket: bucket, Key: 'uploads/finished', Body: 'hello', ContentType: 'text/plain' },
          // As an upload URL signs it.
          Metadata: { 'attempt-id': id },
        }),
      )
      await begin(bucket, 'uploads/abandoned')
      await begin('of-others', 'uploads/elsewhere')
      const cleaning = ['clean-up', ...ofBucket, '--download-expires-in', '60']
      expect(await run(...cleaning, '--concurrency', '1', '--json')).toMatchObject({
        exitCode: 0,
        stdout: expect.stringMatching(
          /^{"reservations":{"confirmed":1,"released":1,"gone":0,"failed":0},"leftovers":{.*"failed":0},"temporary":{.*},"failed":0}\n$/,
        ) as string,
      })
      // The name of a bucket may be misspelt.
      expect(await run(...cleaning)).toMatchObject({
        stderr: expect.stringContaining(
          'Passed over the bucket "of-others", which no --bucket names.',
        ) as string,
      })
      const pending = await seeded.store.listByScope({ scope: 'user:9', status: 'pending' })
      expect(pending.objects.map(({ key }) => key)).toEqual(['uploads/elsewhere'])
      await begin('no-such-bucket', 'uploads/failing')
      expect(await run(...cleaning, '--bucket', 'no-such-bucket')).toMatchObject({
        exitCode: 1,
        stdout: expect.stringContaining('failed  no-such-bucket/uploads/failing: ') as string,
        stderr: expect.stringContaining('Reservations: confirmed 0, released 0, gone 0, failed 1.') as string,
      })
      await seeded.store.remove({ bucket, key: 'uploads/finished', mode: 'hard' })
    })

    it('clean-up removes objects past their end only with --temporary, and without history with --hard', async () => {
      const yesterday = new Date(Date.now() - 86_400_000)
      const { pool, schema } = seeded
      const store = postgresAdapter(pool, { schema, now: () => yesterday })
      const ended = async (key: string) => {
        const at = { scope: 'user:8', bucket, key, storageKey: key }
        const expiresAt = new Date(yesterday.getTime() + 1000)
        const { id } = await store.reserve({ ...at, declaredSize: 5, expiresAt, temporarySeconds: 3600 })
        await put(key, 'hello')
        await store.confirm({ ...at, id, size: 5 })
      }
      const states = async (key: string) => (await seeded.store.find({ bucket, key }))?.status
      const cleaning = ['clean-up', ...ofBucket, '--download-expires-in', '60']
      await ended('drafts/1')
      expect((await run(...cleaning)).stderr).not.toContain('Temporary')
      expect(await states('drafts/1')).toBe('active')
      expect(await run(...cleaning, '--temporary')).toMatchObject({
        exitCode: 0,
        stderr: expect.stringContaining('Temporary: removed 1, kept 0, failed 0.') as string,
      })
      expect(await states('drafts/1')).toBe('deleted')
      await ended('drafts/2')
      await run(...cleaning, '--temporary', '--hard')
      expect(await states('drafts/2')).toBeUndefined()
      await seeded.store.purgeDeleted({ scope: 'user:8', before: new Date() })
    })

    it('clean-up goes on with --every, also after a run that fails, until it is stopped', async () => {
      const rename = (from: string, to: string) =>
        seeded.pool.query(`ALTER TABLE ${pg.escapeIdentifier(seeded.schema)}.${from} RENAME TO ${to}`)
      const args = ['clean-up', ...ofBucket, '--download-expires-in', '60', '--every', '1']
      const child = command.start([...args, '--schema', seeded.schema], environment)
      let printed = ''
      child.stderr.on('data', (text) => (printed += String(text)))
      const runs = () => printed.split('Reservations: ').length - 1
      await expect.poll(runs, { timeout: 60_000 }).toBeGreaterThan(1)
      await rename('leftovers', 'away')
      await expect.poll(() => printed, { timeout: 60_000 }).toContain('svc-db: ')
      await rename('away', 'leftovers')
      const before = runs()
      await expect.poll(runs, { timeout: 60_000 }).toBeGreaterThan(before)
      child.kill('SIGTERM')
      expect(await new Promise((resolve) => child.once('close', resolve))).toBe(143)
    })

    it('check-storage exits with 1 for a difference if its reader has closed the pipe', async () => {
      const args = ['check-storage', ...ofBucket, '--older-than', '0', '--schema', seeded.schema]
      const child = command.start(args, environment)
      child.stdin.end()
      child.stdout.destroy()
      expect(await new Promise((resolve) => child.once('close', resolve))).toBe(1)
    })

    it('check-storage leaves out what the module skips, and records the ETags of copies', async () => {
      await put('users/2/b.txt', 'HELLO')
      const check = (...args: string[]) =>
        run(
          'check-storage',
          '--bucket',
          'recorded',
          '--s3-endpoint',
          server.endpoint,
          '--older-than',
          '0',
          ...args,
        )
      const known = { scope: 'moved', bucket: 'recorded', size: 5, eTag: '"old"', createdAt: new Date() }
      await seeded.store.adopt({ ...known, key: 'copy', storageKey: 'users/2/b.txt' })
      const moved = ['--bucket-name', `recorded=${bucket}`, '--key-prefix', 'users/2/b']
      expect((await check(...moved)).stdout).toMatch(/^changed {5}recorded\/users\/2\/b.txt/)
      for (const accepted of [1, 0]) {
        expect(await check(...moved, '--accept-etags')).toEqual({
          exitCode: 0,
          stdout: '',
          stderr: `Compared 1 item of the bucket with 1 row: 0 missing, 0 changed, 0 unrecorded, ${accepted} accepted.\n`,
        })
      }
      expect(await check(...moved.slice(0, 2), '--key-prefix', 'logs/', '--map', map)).toMatchObject({
        exitCode: 0,
      })
      expect((await check(...moved.slice(0, 2), '--key-prefix', 'logs/')).exitCode).toBe(1)
      expect((await check('--bucket-name', 'recorded')).stderr).toContain(
        'Must be two names, such as old-bucket=new-bucket.',
      )
    })

    it('transfer-scope gives objects to another scope, up to a limit', async () => {
      const transfer = (...args: string[]) =>
        run('transfer-scope', '--from', 'user:1', '--to', 'user:4', ...args)
      for (const [to, message] of [
        ['user:1', 'svc-db: --to must be another scope than --from.\n'],
        ['', 'svc-db: --to must be a string of 1 to 255 characters (got an empty string).\n'],
      ]) {
        expect(await run('transfer-scope', '--from', 'user:1', '--to', to!)).toMatchObject({
          exitCode: 2,
          stderr: message,
        })
      }
      const limited = await transfer('--max-files', '1')
      expect(limited.exitCode).toBe(1)
      expect(limited.stdout).toMatch(/^failed {2}\S+: .*quota/)
      // A repeated command would be refused as well.
      expect(limited.stderr).toBe('Transferred 1 object to user:4.\n')
      expect(jsonLines((await transfer('--json')).stdout)).toEqual([{ transferred: 1, failed: 0 }])
      expect(await seeded.store.countByScope('user:4')).toBe(2)
    })

    it('transfer-scope counts all failures, and lists the first 1000', async () => {
      const keys = Array.from({ length: 1003 }, (_, index) => `many/${index}`)
      const file = { scope: 'many', bucket, size: 1, createdAt: new Date() }
      await Promise.all(keys.map((key) => seeded.store.adopt({ ...file, key, storageKey: key })))
      const { exitCode, stdout, stderr } = await run(
        ...['transfer-scope', '--from', 'many', '--to', 'few', '--max-files', '1', '--json'],
      )
      expect(exitCode).toBe(1)
      const lines = jsonLines(stdout)
      expect(lines).toHaveLength(1001)
      expect(lines.at(-1)).toEqual({ transferred: 1, failed: 1002 })
      expect(stderr).toContain('2 more failed.')
    })

    it('end-uploads ends the uploads of a scope, and removes their parts', async () => {
      const file = { scope: 'user:5', bucket, declaredSize: 5, expiresAt: new Date(Date.now() + 3_600_000) }
      const { id, key } = await seeded.store.reserve({ ...file, key: 'parts', storageKey: 'parts' })
      const { UploadId: uploadId } = await client.send(
        new CreateMultipartUploadCommand({ Bucket: bucket, Key: key }),
      )
      await seeded.store.setUploadId({ bucket, key, id, uploadId: uploadId! })
      await seeded.store.reserve({ ...file, key: 'other', storageKey: 'other' })
      const end = () => run('end-uploads', 'user:5', '--s3-endpoint', server.endpoint)
      const ended = { exitCode: 0, stdout: '', stderr: 'Ended 2 uploads of user:5.\n' }
      expect(await end()).toEqual(ended)
      expect(await seeded.store.countByScope('user:5')).toBe(0)
      const parts = new ListPartsCommand({ Bucket: bucket, Key: key, UploadId: uploadId })
      await expect(client.send(parts)).rejects.toMatchObject({ $metadata: { httpStatusCode: 404 } })
      expect(await run('end-uploads', '')).toMatchObject({ exitCode: 2, stdout: '' })
    })

    it('erase deletes rows and bytes, and only with --yes where nobody can answer', async () => {
      const erase = (...args: string[]) => run('erase', 'user:4', '--s3-endpoint', server.endpoint, ...args)
      expect(await erase()).toEqual({
        exitCode: 2,
        stdout: '',
        stderr:
          'svc-db: erase asks for confirmation, but stdin is not a terminal.\n  Pass --yes to skip the confirmation.\n',
      })
      expect(await erase('--yes')).toEqual({
        exitCode: 0,
        stdout: '',
        stderr: 'Erased 2 objects (10 bytes), 0 uploads and 0 rows of history.\n',
      })
      await expect(
        client.send(new HeadObjectCommand({ Bucket: bucket, Key: 'users/1/a.txt' })),
      ).rejects.toThrow()
      expect(await seeded.store.countByScope('user:4')).toBe(0)
    })

    it('erase --scope-prefix deletes every scope with the prefix, and nothing of those beside them', async () => {
      const own = ['acme:', 'acme:a', 'acme:b', 'acme:\u{10ffff}']
      const others = ['acme', 'acme9', 'acme;', 'acmf', 'Acme:a', 'beta:acme:']
      for (const scope of [...own, ...others]) {
        const key = `tenants/${scope}`
        await put(key)
        await seeded.store.adopt({ scope, bucket, key, storageKey: key, size: 5, createdAt: new Date() })
      }
      await seeded.store.remove({ bucket, key: 'tenants/acme:b' })
      const listed = async () => (await scopesOf()).filter((scope) => /acm/i.test(scope))
      const erase = (...args: string[]) =>
        run('erase', '--scope-prefix', 'acme:', '--s3-endpoint', server.endpoint, ...args)

      const unconfirmed = await erase()
      expect(unconfirmed).toMatchObject({ exitCode: 2, stdout: '' })
      expect(unconfirmed.stderr).toContain('Pass --yes to skip the confirmation.')
      expect(await listed()).toHaveLength(own.length + others.length)

      expect(await erase('--yes')).toEqual({
        exitCode: 0,
        stdout: '',
        stderr: 'Erased 4 scopes: 3 objects (15 bytes), 0 uploads and 1 row of history.\n',
      })
      expect(await listed()).toEqual(others.toSorted())
      const { Contents = [] } = await client.send(
        new ListObjectsV2Command({ Bucket: bucket, Prefix: 'tenants/' }),
      )
      const left = Contents.filter(({ Size }) => Size! > 0).map(({ Key }) => Key)
      expect(left).toEqual(others.map((scope) => `tenants/${scope}`).toSorted())

      const again = await erase('--yes', '--json')
      expect(again).toMatchObject({ exitCode: 0, stdout: '' })
      expect(jsonLines(again.stderr)).toEqual([{ message: 'No scope with the prefix acme: holds anything.' }])
    })

    it('erase --scope-prefix prints what failed of each scope, and goes on', async () => {
      for (const [scope, at] of [
        ['part:a', { bucket, key: 'part/a' }],
        ['part:b', { bucket: 'no-such-bucket', key: 'part/b' }],
        ['part:c', { bucket, key: 'part/c' }],
      ] as const) {
        await seeded.store.adopt({ scope, ...at, storageKey: at.key, size: 5, createdAt: new Date() })
      }
      const args = ['--scope-prefix', 'part:', '--yes', '--json', '--s3-endpoint', server.endpoint]
      const { exitCode, stdout } = await run('erase', ...args)
      expect(exitCode).toBe(1)
      const error = expect.objectContaining({ code: 'STORAGE_UNAVAILABLE' }) as object
      expect(jsonLines(stdout)).toEqual([
        { failed: { bucket: 'no-such-bucket', key: 'part/b', error } },
        { scopes: 3, objects: 3, bytes: 10, reservations: 0, history: 0, failed: 1 },
      ])
    })

    it('an interrupted import says where to go on', async () => {
      const waiting = join(folder, 'waiting.mjs')
      // Selects the first two at once, and says that it waits at the third until it is interrupted.
      writeFileSync(
        waiting,
        `let calls = 0
        export default async () => {
          if (++calls < 3) return { scope: 'late' }
          console.log('waiting')
          await new Promise((resolve) => process.once('SIGINT', resolve))
          return null
        }`,
      )
      const args = ['import', ...ofBucket, '--map', waiting, '--concurrency', '1', '--key-prefix', 'users/']
      const child = command.start([...args, '--schema', seeded.schema], environment)
      child.stdin.end()
      await once(child.stdout, 'readable')
      child.kill('SIGINT')
      const { exitCode, stderr } = await ended(child)
      expect(exitCode).toBe(130)
      expect(stderr).toContain('Stopping after the current step.')
      expect(stderr).toMatch(/known \d, .*skipped [1-9]/)
      expect(stderr).toMatch(/To go on, repeat the command with --after users\/3\/c\.txt\n$/)
    })

    describe('says how to go on', () => {
      it('after an outage of the bucket', async () => {
        const nowhere = ['--s3-endpoint', 'http://127.0.0.1:9']
        const listed = await run('check-storage', '--bucket', bucket, ...nowhere)
        expect(listed.exitCode).toBe(3)
        const record = (scope: string, at: { bucket: string; key: string }) =>
          seeded.store.adopt({ scope, ...at, storageKey: at.key, size: 1, createdAt: new Date() })
        await record('unreachable', { bucket, key: 'unreachable' })
        const erased = await run('erase', 'unreachable', '--yes', ...nowhere)
        expect(erased).toMatchObject({ exitCode: 3, stdout: '' })
        expect(await seeded.store.countByScope('unreachable')).toBe(1)
        const all = await run('erase', '--scope-prefix', 'unreach', '--yes', ...nowhere)
        expect(all).toMatchObject({ exitCode: 3, stdout: '' })
        expect(await seeded.store.countByScope('unreachable')).toBe(1)

        // The command looks into the bucket of the newest object only.
        await record('partly', { bucket: 'no-such-bucket', key: 'partly' })
        await record('partly', { bucket, key: 'partly' })
        const partly = await run('erase', 'partly', '--yes', '--s3-endpoint', server.endpoint)
        expect(partly.exitCode).toBe(1)
        expect(partly.stdout).toMatch(
          /^failed {2}no-such-bucket\/partly: .* Cause: s3Storage: .*NoSuchBucket/,
        )
        expect(partly.stderr).toContain('To go on, repeat the command.')
      })

      it('if another transaction holds the scope', async () => {
        const scope = 'held'
        await seeded.store.adopt({
          scope,
          bucket,
          key: 'held',
          storageKey: 'held',
          size: 1,
          createdAt: new Date(),
        })
        await seeded.store.remove({ bucket, key: 'held', scope })
        const holder = await seeded.pool.connect()
        try {
          await holder.query('BEGIN')
          await holder.query(
            `SELECT FROM ${pg.escapeIdentifier(seeded.schema)}.scope_usage WHERE scope = 'held' FOR UPDATE`,
          )
          const { exitCode, stderr } = await run('erase', scope, '--yes', '--s3-endpoint', server.endpoint)
          expect(exitCode).toBe(3)
          expect(stderr).toMatch(/^To go on, repeat the command\..*\nsvc-db: The database did not get a lock/)
        } finally {
          await holder.query('ROLLBACK')
          holder.release()
        }
      })
    })

    describe('refuses', () => {
      it.each([
        [['--map', 'no-such.mjs'], '--map no-such.mjs could not be loaded: Cannot find module'],
        [['--map', 'package.json'], '--map package.json could not be loaded'],
        [
          ['--s3-endpoint', 'bucket.example'],
          '--s3-endpoint must be a URL that starts with http:// or https://.',
        ],
        [['--concurrency', '0'], 'Must be an integer of at least 1.'],
        [['--after', ''], 'Must have 1 to 1024 bytes of UTF-8.'],
      ])('%j', async (args, message) => {
        const { exitCode, stdout, stderr } = await importing(...args)
        expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
        expect(stderr).toContain(message)
      })

      it('a bucket that does not exist, with what the service says', async () => {
        const args = ['--bucket', 'no-such-bucket', '--s3-endpoint', server.endpoint]
        const { exitCode, stderr } = await run('check-storage', ...args)
        expect(exitCode).toBe(5)
        expect(stderr).toContain('Cause: s3Storage: list failed in bucket "no-such-bucket"')
      })

      it('to go on where there are no credentials or other ones', async () => {
        const check = (given: Readonly<Record<string, string>>) =>
          command.run(['check-storage', ...ofBucket, '--schema', seeded.schema], {
            DATABASE_URL: url,
            AWS_EC2_METADATA_DISABLED: 'true',
            ...given,
          })
        const [none, wrong] = await Promise.all([
          check({}),
          check({ AWS_ACCESS_KEY_ID: server.owner.accessKeyId, AWS_SECRET_ACCESS_KEY: 'wrong' }),
        ])
        expect([none.exitCode, wrong.exitCode]).toEqual([5, 5])
        expect(none.stderr).toContain('Could not load credentials')
        expect(wrong.stderr).toContain('SignatureDoesNotMatch')
      })
    })
  })
})
