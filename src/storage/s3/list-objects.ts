import { ListObjectsV2Command, type ListObjectsV2CommandOutput, type S3Client } from '@aws-sdk/client-s3'
import type { BytesPage, ListBytesInput, ListedBytes } from '../../core/object-storage.js'
import { decodeKey } from './listed-keys.js'

/** Lists the objects after a key. S3 lists in byte order. */
export async function listObjects(
  client: S3Client,
  { bucket, prefix, after, limit }: ListBytesInput,
  abortSignal: AbortSignal,
): Promise<BytesPage> {
  const items: ListedBytes[] = []
  let token: string | undefined
  for (;;) {
    const command = new ListObjectsV2Command({
      Bucket: bucket,
      Prefix: prefix ?? undefined,
      StartAfter: after ?? undefined,
      ContinuationToken: token,
      MaxKeys: limit - items.length,
      // XML can't represent some characters that keys may contain.
      EncodingType: 'url',
    })
    const page = await client.send(command, { abortSignal })
    items.push(...itemsOf(page))
    const last = items.at(-1)
    if (page.IsTruncated !== true) return { items, next: null }
    if (last && items.length >= limit) return { items, next: last.key }
    // A page may have fewer items than there are, or none.
    if (!page.NextContinuationToken || page.NextContinuationToken === token) throw incomplete()
    token = page.NextContinuationToken
  }
}

function itemsOf({ Contents = [], EncodingType }: ListObjectsV2CommandOutput): readonly ListedBytes[] {
  return Contents.map(({ Key, Size, ETag, LastModified }) => {
    if (Key === undefined || Size === undefined || !LastModified) throw incomplete()
    const key = EncodingType === 'url' ? decodeKey(Key) : Key
    return { key, size: Size, eTag: ETag || null, lastModified: LastModified }
  })
}

function incomplete(): Error {
  return new Error('the response lacks fields that S3 guarantees')
}
