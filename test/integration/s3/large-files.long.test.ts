import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { createS3Server, db, type ObjectStorage } from '@svc/db'
import { diskStorage } from '@svc/db/disk'
import { memoryAdapter } from '@svc/db/memory'
import { s3Storage } from '@svc/db/s3'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../unit/storage/temporary-folder.js'
import { clientOf, describeS3, freshBucket } from './s3-server.js'

const MIB = 1024 ** 2
const PART = 8 * MIB

describe('a large file of the server', () => {
  describe('on diskStorage', () => {
    describeLargeFile('files', () => diskStorage({ directory: join(temporaryFolder(), 'bytes') }))
  })

  describeS3('on s3Storage', (server) => {
    const client = clientOf(server)
    describeLargeFile(freshBucket(client), () => s3Storage({ client }))
  })
})

function describeLargeFile(bucket: string, open: () => ObjectStorage): void {
  const size = 1024 * MIB + 1

  it(`is streamed with less memory than three parts (${size} bytes)`, async () => {
    const plugins = [db({ client: memoryAdapter(), resolveScope: () => null })]
    const { files } = createS3Server({ storage: open(), bucket, plugins })
    const hash = createHash('sha256')
    const buffers = () => process.memoryUsage().arrayBuffers
    let peak = 0
    const measure = () => {
      peak = Math.max(peak, buffers())
    }

    const chunk = Buffer.alloc(256 * 1024)
    const baseline = buffers()
    const body = (async function* () {
      for (let sent = 0; sent < size; sent += chunk.byteLength) {
        chunk.fill(sent / chunk.byteLength)
        const bytes = chunk.subarray(0, Math.min(chunk.byteLength, size - sent))
        hash.update(bytes)
        measure()
        yield bytes
      }
    })()
    const { key } = await files.put({ scope: 'user:1', body, size, onProgress: measure })
    expect(peak - baseline).toBeLessThan(3 * PART)

    const received = createHash('sha256')
    for await (const bytes of (await files.get({ key })).body) received.update(bytes)
    expect(received.digest('hex')).toBe(hash.digest('hex'))
  })
}
