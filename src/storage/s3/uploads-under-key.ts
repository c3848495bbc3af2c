import { ListMultipartUploadsCommand, type S3Client } from '@aws-sdk/client-s3'
import type { BytesReference } from '../../core/object-storage.js'

/** The ids of the uploads under just this key. S3 lists by prefix, and not always in the order of the keys. */
export async function uploadsUnderKey(
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
      // XML has no place for some characters that a key may have.
      EncodingType: 'url',
      ...position,
    })
    const page = await client.send(command, { abortSignal })
    for (const { Key = '', UploadId } of page.Uploads ?? []) {
      // Ceph encodes without saying so, others don't encode at all.
      if (UploadId && (Key === key || decoded(Key) === key)) ids.push(UploadId)
    }
    if (page.IsTruncated !== true) return ids
    const { NextKeyMarker = '', NextUploadIdMarker } = page
    position = {
      KeyMarker: page.EncodingType === 'url' ? decoded(NextKeyMarker) : NextKeyMarker,
      UploadIdMarker: NextUploadIdMarker,
    }
  }
}

/** As S3 encodes keys: a space as `+`. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}
