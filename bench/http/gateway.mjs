import { CreateBucketCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { importSource } from '../own-source.mjs'
import { s3Client } from './buckets.mjs'
import { bucket } from './listed-scope.mjs'
import { FILE } from './uploads-by-hand.mjs'

const { RADOSGW } = await importSource('test/servers/radosgw.ts')
const { isRequired } = await importSource('test/servers/found-server.ts')

/**
 * Starts a private gateway of Ceph, as the tests do, and creates the bucket. If none is installed, reports it and
 * returns `null`.
 *
 * @throws Error if REQUIRE_SERVERS names it and none is installed.
 */
export async function startGateway() {
  const [start] = RADOSGW.ways
  const server = await start()
  if (server === null) {
    const whyNot = `No server found: ${RADOSGW.howToGet}.`
    if (isRequired(RADOSGW.name)) throw new Error(whyNot)
    console.error(`Skipped: uploads with a bucket. ${whyNot}`)
    return null
  }

  const { origin: endpoint, username, password } = new URL(server.url)
  const connection = { endpoint, credentials: { accessKeyId: username, secretAccessKey: password } }
  const client = s3Client(connection)
  await client.send(new CreateBucketCommand({ Bucket: bucket }))
  const bytes = Buffer.alloc(FILE.size)

  return {
    connection,

    /** Stores the bytes of an attempt, as a browser would with its URL. */
    async put({ storageKey, id }) {
      const command = new PutObjectCommand({
        Bucket: bucket,
        Key: storageKey,
        Body: bytes,
        ContentType: FILE.contentType,
        Metadata: { 'attempt-id': id },
      })
      await client.send(command)
    },

    async stop() {
      client.destroy()
      await server.stop()
    },
  }
}
