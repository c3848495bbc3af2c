import {
  AbortMultipartUploadCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  type S3Client,
} from '@aws-sdk/client-s3'

/** A request for many keys would be XML, which can't contain some of them. */
const DELETED_AT_ONCE = 8

/** Removes a bucket with everything in it, including incomplete multipart uploads. */
export async function removeBucket(client: S3Client, bucket: string): Promise<void> {
  const at = { Bucket: bucket, EncodingType: 'url' } as const
  for (;;) {
    const { Contents = [] } = await client.send(new ListObjectsV2Command(at))
    const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand(at))
    if (Contents.length + Uploads.length === 0) break
    for (let start = 0; start < Contents.length; start += DELETED_AT_ONCE) {
      await Promise.all(
        Contents.slice(start, start + DELETED_AT_ONCE).map(({ Key = '' }) =>
          client.send(new DeleteObjectCommand({ Bucket: bucket, Key: decodedKey(Key) })),
        ),
      )
    }
    for (const { Key = '', UploadId } of Uploads) {
      await client.send(new AbortMultipartUploadCommand({ Bucket: bucket, Key: decodedKey(Key), UploadId }))
    }
  }
  await client.send(new DeleteBucketCommand({ Bucket: bucket }))
}

/** Decodes a key from a listing with `EncodingType: 'url'`. */
export function decodedKey(key: string): string {
  return decodeURIComponent(key.replaceAll('+', ' '))
}
