import { ListMultipartUploadsCommand, type S3Client } from '@aws-sdk/client-s3'
import type { BytesReference } from '../../core/object-storage.js'
import { decodeKey } from './listed-keys.js'

/** Lists the ids of the multipart uploads to exactly this key. S3 lists by prefix, and not always in key order. */
export async function listUploads(
  client: S3Client,
  { bucket, key }: BytesReference,
  abortSignal: AbortSignal,
): Promise<readonly string[]> {
  const ids: string[] = []
  let position: { KeyMarker?: string | undefined; UploadIdMarker?: string | undefined } = {}
  for (;;) {
    const command = new ListMultipartUploadsCommand({
      Bucket: bucket,
      Prefix: key,
      // XML can't represent some characters that keys may contain.
      EncodingType: 'url',
      ...position,
    })
    const page = await client.send(command, { abortSignal })
    for (const { Key = '', UploadId } of page.Uploads ?? []) {
      // Ceph encodes keys without reporting it, and other services don't encode at all.
      if (UploadId && (Key === key || decodeKey(Key) === key)) ids.push(UploadId)
    }
    if (page.IsTruncated !== true) return ids
    const { NextKeyMarker = '', NextUploadIdMarker } = page
    position = {
      KeyMarker: page.EncodingType === 'url' ? decodeKey(NextKeyMarker) : NextKeyMarker,
      UploadIdMarker: NextUploadIdMarker,
    }
  }
}
