import { once } from 'node:events'
import type { Socket } from 'node:net'
import { S3Client } from '@aws-sdk/client-s3'
import { createAttemptId } from '@svc/db'
import { s3Storage } from '@svc/db/s3'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startHttpServer } from '../../servers/http-server.js'
import { clientOf, describeS3, freshBucket } from './s3-server.js'

const MIB = 1024 ** 2
const SOCKETS = 3

describeS3('bodies that s3Storage reads', (server) => {
  const bucket = freshBucket(clientOf(server))

  it.each(['WHEN_REQUIRED', 'WHEN_SUPPORTED'] as const)(
    'take no sockets from other calls, and are closed when they are cancelled, with checksums %s',
    async (responseChecksumValidation) => {
      let open = 0
      const client = clientOf(server, {
        responseChecksumValidation,
        requestHandler: { httpAgent: { maxSockets: SOCKETS } },
      })
      client.middlewareStack.add(
        (next) => async (args) => {
          const result = await next(args)
          const { body } = result.response as { body: { socket: NodeJS.EventEmitter } }
          open++
          body.socket.once('close', () => open--)
          return result
        },
        { step: 'deserialize', priority: 'low' },
      )
      const storage = s3Storage({ client })
      const file = { bucket, key: createAttemptId(), contentType: 'a/b', attemptId: createAttemptId() }
      await storage.write!({ ...file, body: new Uint8Array(12 * MIB) })
      client.destroy()
      await expect.poll(() => open).toBe(0)

      const readers = []
      for (let reader = 0; reader < 3 * SOCKETS; reader++) {
        readers.push((await storage.read!(file))!.getReader())
        await readers.at(-1)!.read()
      }

      expect(await storage.head(file)).toMatchObject({ size: 12 * MIB })
      for (const reader of readers) await reader.cancel()
      client.destroy()
      await expect.poll(() => open).toBe(0)
    },
  )
})

describe('a body that s3Storage reads', () => {
  /** Starts a bucket that sends ten bytes of a hundred, and a storage on it. */
  async function stalledBucket(headers: Record<string, string> = {}) {
    const { server, url, stop } = await startHttpServer((_request, response) => {
      response.writeHead(200, { 'content-length': 100, ...headers }).write('0123456789')
    })
    const client = new S3Client({
      ...{ endpoint: url, region: 'us-east-1', forcePathStyle: true, maxAttempts: 1 },
      credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
    })
    onTestFinished(() => {
      client.destroy()
      return stop()
    })
    const connected = once(server, 'connection') as Promise<[Socket]>
    const stream = await s3Storage({ client, idleSeconds: 0.2 }).read!({ bucket: 'files', key: 'a' })
    const [connection] = await connected
    return { connection, reader: stream!.getReader(), closed: once(connection, 'close') }
  }

  it('ends if the bucket sends nothing for idleSeconds', async () => {
    const { reader, closed } = await stalledBucket()
    expect((await reader.read()).value).toHaveLength(10)
    await expect(reader.read()).rejects.toThrow(
      's3Storage: read failed in bucket "files": the bucket sent nothing for 0.2 s',
    )
    await closed
  })

  it.each([
    ['without a checksum', {}],
    ['with a checksum', { 'x-amz-checksum-crc32': 'AAAAAA==' }],
  ])('ends if the connection breaks off, %s', async (_, headers) => {
    const { connection, reader } = await stalledBucket(headers)
    await reader.read()
    const reading = reader.read()
    connection.destroy()
    await expect(reading).rejects.toThrow('aborted')
  })

  it('ends if nothing reads it for idleSeconds', async () => {
    const { reader, closed } = await stalledBucket()
    await closed
    await expect(reader.read()).rejects.toThrow(
      's3Storage: read failed in bucket "files": nothing read the body for 0.2 s',
    )
  })
})
