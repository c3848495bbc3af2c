import { once } from 'node:events'
import { ListMultipartUploadsCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { s3Storage } from '@svc/db/s3'
import { beforeEach, expect, it } from 'vitest'
import { HOUR } from '../../conformance/clock.js'
import { describePostgres } from '../postgres/schemas.js'
import { faultProxyTo } from '../s3/fault-proxy.js'
import { clientOf, describeS3, freshBucket, keysIn } from '../s3/s3-server.js'
import { buildCommand, ended, jsonLines } from './command.js'
import { seededSchema } from './seeded-schema.js'

describePostgres('svc-db doctor', (url) => {
  describeS3('on S3', (server) => {
    const client = clientOf(server)
    const bucket = freshBucket(client)
    const proxy = faultProxyTo(server.endpoint)
    beforeEach(() => proxy.faults('none'))
    const command = buildCommand()
    const seeded = seededSchema(url)

    const environment = {
      DATABASE_URL: url,
      AWS_ACCESS_KEY_ID: server.owner.accessKeyId,
      AWS_SECRET_ACCESS_KEY: server.owner.secretAccessKey,
      AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
    }
    const argumentsOf = (...args: string[]) => [
      ...['doctor', '--bucket', bucket, '--s3-endpoint', proxy.endpoint, '--schema', seeded.schema],
      ...['--no-browser-uploads', ...args],
    ]
    const doctor = (args: readonly string[] = [], more: Readonly<Record<string, string>> = {}) =>
      command.run(argumentsOf(...args), { ...environment, ...more })
    const left = async () => {
      const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }))
      return [...(await keysIn(client, bucket)), ...Uploads.map(({ Key }) => Key)]
    }

    it('finds nothing in a healthy service', async () => {
      expect(await doctor()).toEqual({ exitCode: 0, stdout: '', stderr: 'No problems found.\n' })
      expect(await left()).toEqual([])
    })

    it('prints each finding in a line, of the bucket and of the database', async () => {
      const broken = ['--bucket', 'no-such-bucket', '--schema', 'elsewhere']
      const never = 'The schema "elsewhere" was never migrated. Run migrate().'
      const missing = 'Bucket "no-such-bucket" does not exist: create it, or correct its name or the endpoint'
      const { exitCode, stdout, stderr } = await doctor(broken)
      expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: '' })
      expect(stdout.split('\n')).toEqual([
        `database: ${never}`,
        expect.stringContaining(`bucket: ${missing}`),
        '',
      ])
      expect(jsonLines((await doctor([...broken, '--json'])).stdout)).toEqual([
        { part: 'database', message: never },
        { part: 'bucket', message: expect.stringContaining(missing) as string },
      ])
    })

    it('names CORS rules that are missing, and asks them as a page of an origin', async () => {
      const run = (...args: string[]) =>
        command.run(
          argumentsOf(...args).filter((text) => text !== '--no-browser-uploads'),
          environment,
        )
      expect((await run()).stdout).toMatch(/^cors: .* has no CORS rules.*\n$/)
      expect((await run('--origin', 'https://app.example')).stdout).toMatch(
        /^cors: .* does not let pages of https:\/\/app\.example upload.*\n$/,
      )
    })

    it.each([
      [
        'a server that is read-only',
        { PGOPTIONS: '-c default_transaction_read_only=on' },
        'default_transaction_read_only is on',
      ],
      [
        'one that is down',
        { DATABASE_URL: 'postgres://app:hidden@127.0.0.1:1/files' },
        'The database is unavailable (connect ECONNREFUSED',
      ],
    ])('names %s, without a password', async (_, more, message) => {
      const { exitCode, stdout, stderr } = await doctor([], more)
      expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: '' })
      expect(stdout).toMatch(/^database: .*\n$/)
      expect(stdout).toContain(message)
      expect(stdout).not.toContain('hidden')
    })

    it('writes with the headers of uploads, and without conditions, as erase does', async () => {
      const written: (readonly [string, unknown, unknown])[] = []
      proxy.faultsBy((request, headers) => {
        const { 'x-amz-storage-class': storageClass, 'if-none-match': condition } = headers
        const [method, path = ''] = request.split(/[ ?]/)
        if (method === 'PUT' && !request.includes('partNumber')) written.push([path, storageClass, condition])
        return 'none'
      })
      const options = ['--upload-header', 'X-Amz-Storage-Class=STANDARD']
      expect((await doctor(options)).exitCode).toBe(0)
      expect(written.length).toBeGreaterThan(2)
      expect(new Set(written.map(([, ...sent]) => sent.join()))).toEqual(new Set(['STANDARD,*']))
      written.length = 0
      expect((await doctor([...options, '--no-create-only'])).exitCode).toBe(0)
      expect(new Set(written.map(([, ...sent]) => sent.join()))).toEqual(new Set(['STANDARD,']))

      const erase = async (scope: string, ...args: string[]) => {
        await client.send(new PutObjectCommand({ Bucket: bucket, Key: scope, Body: 'a' }))
        const stored = { bucket, key: scope, storageKey: scope, size: 1, createdAt: new Date() }
        await seeded.store.adopt({ scope, ...stored })
        written.length = 0
        const at = ['--yes', '--s3-endpoint', proxy.endpoint, '--schema', seeded.schema]
        expect((await command.run(['erase', scope, ...at, ...args], environment)).exitCode).toBe(0)
        return written
      }
      // An empty object, which keeps an upload URL from writing again.
      expect(await erase('one', ...options)).toEqual([[`/${bucket}/one`, 'STANDARD', undefined]])
      expect(await erase('two', ...options, '--no-create-only')).toEqual([])
      expect(await left()).toEqual([])
    })

    it.each([
      [['--upload-header', 'x-amz-acl'], 'Must be a name and a value, such as'],
      [['--upload-header', 'x-amz-website=a'], '--upload-header is invalid. s3Storage: unknown option'],
      [['--origin', 'https://app.example/'], 'Must be an origin without a path'],
      [['--max-parts', '10001'], 'Must be an integer from 1 to 10000.'],
    ])('refuses %j', async (args, message) => {
      const { exitCode, stderr } = await doctor(args)
      expect(exitCode).toBe(2)
      expect(stderr).toContain(message)
      expect(proxy.requests).toEqual([])
    })

    /** Starts the command, and sends it a signal when it makes a request. */
    async function interrupted(at: RegExp, signal: 'SIGINT' | 'SIGKILL') {
      const child = command.start(argumentsOf(), environment)
      child.stdin.end()
      const gone = once(child, 'exit')
      // What the killed process was about to change must not happen.
      const isOver = signal === 'SIGKILL' ? gone : once(child.stderr, 'data')
      let isSent = false
      proxy.faultsBy((request) => {
        if (isSent || !at.test(request)) return 'none'
        isSent = true
        child.kill(signal)
        return { until: isOver }
      })
      return ended(child)
    }

    it('removes what it has written on Ctrl-C', async () => {
      const { exitCode, stdout } = await interrupted(/^GET .*X-Amz-Signature/, 'SIGINT')
      expect({ exitCode, stdout }).toEqual({ exitCode: 130, stdout: '' })
      expect(await left()).toEqual([])
    })

    it('removes what a killed run has left, an hour later', async () => {
      await interrupted(/^GET .*X-Amz-Signature/, 'SIGKILL')
      await interrupted(/^PUT .*partNumber=10000/, 'SIGKILL')
      const written = await left()
      // One object of the first run, and an object and an upload with its key of the second.
      expect(written).toHaveLength(3)
      for (const key of written) expect(key).toMatch(/^\.svc-db\/verify\//)
      expect((await doctor()).exitCode).toBe(0)
      // It may be of a run that is in progress.
      expect(await left()).toEqual(written)
      const now = () => new Date(Date.now() + 2 * HOUR)
      await s3Storage({ client, now }).verify!({ bucket })
      expect(await left()).toEqual([])
    })
  })
})
