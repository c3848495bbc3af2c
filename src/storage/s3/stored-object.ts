import {
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  type S3Client,
} from '@aws-sdk/client-s3'
import type { BytesReference, StoredBytes } from '../../core/object-storage.js'
import { ATTEMPT_METADATA } from '../headers/attempt-header.js'
import { isBadRequest, isNotFound, isSealed } from './bucket-failures.js'

/** What lies at a key, or `null`. */
export async function storedObject(
  client: S3Client,
  { bucket, key }: BytesReference,
  abortSignal: AbortSignal,
): Promise<StoredBytes | null> {
  const at = { Bucket: bucket, Key: key }
  try {
    const found = await client.send(new HeadObjectCommand(at), { abortSignal })
    if (found.ContentLength === undefined) throw new Error('the answer has no Content-Length')
    return {
      size: found.ContentLength,
      contentType: found.ContentType ?? null,
      eTag: found.ETag || null,
      attemptId: found.Metadata?.[ATTEMPT_METADATA] ?? null,
    }
  } catch (error) {
    // Nothing else says why: an answer to HEAD has no body.
    if (isBadRequest(error) && (await isSealedObject(client, at, abortSignal))) {
      return sealedObject(client, at, abortSignal)
    }
    if (!isNotFound(error)) throw error
  }
  // Asked every time: what was true of a bucket once says nothing of it now.
  await client.send(new HeadBucketCommand({ Bucket: bucket }), { abortSignal })
  return null
}

interface At {
  readonly Bucket: string
  readonly Key: string
}

/** Whether the object was encrypted with a key that only its writer has. */
async function isSealedObject(client: S3Client, at: At, abortSignal: AbortSignal): Promise<boolean> {
  try {
    const { Body } = await client.send(new GetObjectCommand({ ...at, Range: 'bytes=0-0' }), { abortSignal })
    await Body?.transformToByteArray()
    return false
  } catch (error) {
    return isSealed(error)
  }
}

/** What a listing tells of it; which attempt wrote it can't be told, so that it never passes for what was announced. */
async function sealedObject(client: S3Client, at: At, abortSignal: AbortSignal): Promise<StoredBytes | null> {
  const command = new ListObjectsV2Command({
    Bucket: at.Bucket,
    Prefix: at.Key,
    // Of all keys that begin with this one it comes first.
    MaxKeys: 1,
    EncodingType: 'url',
  })
  const { Contents: [found] = [] } = await client.send(command, { abortSignal })
  return found ? { size: found.Size ?? 0, contentType: null, eTag: null, attemptId: null } : null
}
