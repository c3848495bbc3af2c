import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import type { S3ServerCore } from '@svc/db'
import { expect, vi } from 'vitest'
import { run, type SnippetChecks } from '../programs.js'
import { withBucket } from './bucket-of-tests.js'

interface MovedProgram {
  readonly s3: S3ServerCore
  readonly acceptCopies: () => Promise<boolean>
}

/** Copies a file that was sent in parts in one piece, as a move does, which changes its ETag. */
const acceptsCopies = withBucket('docs/moving-a-bucket.md#moved-bucket.ts', async (program, { bucket }) => {
  const { s3, acceptCopies } = await run<MovedProgram>(program)
  const logged = vi.spyOn(console, 'log').mockReturnValue()
  const body = new Uint8Array(9 * 1024 ** 2)
  const { key, storageKey, attemptId } = await s3.files.put({ scope: 'user:ann', filename: 'a.bin', body })
  const client = new S3Client({ forcePathStyle: true })
  const at = { Bucket: bucket, Key: storageKey! }
  await client.send(new PutObjectCommand({ ...at, Body: body, Metadata: { 'attempt-id': attemptId } }))
  client.destroy()
  expect([await acceptCopies(), await acceptCopies()]).toEqual([true, true])
  expect(logged.mock.calls.flat()).toEqual(['1 copies with another ETag', '0 copies with another ETag'])
  const { object, body: stored } = await s3.files.get({ key })
  expect(object.bucket).toBe('old-bucket')
  expect((await new Response(stored).arrayBuffer()).byteLength).toBe(body.byteLength)
  await s3.files.delete({ key })
})

export const movingABucketChecks: SnippetChecks = {
  'docs/moving-a-bucket.md#moved-bucket.ts': acceptsCopies,
}
