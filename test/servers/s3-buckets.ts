import {
  AbortMultipartUploadCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  type S3Client,
} from '@aws-sdk/client-s3'

/** With all that is in it, uploads that were never completed included. */
export async function removeBucket(client: S3Client, bucket: string): Promise<void> {
  const at = { Bucket: bucket, EncodingType: 'url' } as const
  for (;;) {
    const { Contents = [] } = await client.send(new ListObjectsV2Command(at))
    const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand(at))
    if (Contents.length + Uploads.length === 0) break
    for (const { Key = '' } of Contents) {
      await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: decodedKey(Key) }))
    }
    for (const { Key = '', UploadId } of Uploads) {
      await client.send(new AbortMultipartUploadCommand({ Bucket: bucket, Key: decodedKey(Key), UploadId }))
    }
  }
  await client.send(new DeleteBucketCommand({ Bucket: bucket }))
}

/** A key of a listing that was asked for with `EncodingType: 'url'`. */
export function decodedKey(key: string): string {
  return decodeURIComponent(key.replaceAll('+', ' '))
}
