import {
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  type S3Client,
} from '@aws-sdk/client-s3'
import type { BytesReference, StoredBytes } from '../../core/object-storage.js'
import { ATTEMPT_METADATA } from '../headers/upload-headers.js'
import { isBadRequest, isCustomerEncrypted, isNotFound } from './s3-errors.js'

/** Returns the size, type, and attempt of an object, or `null` if there is none. */
export async function headObject(
  client: S3Client,
  { bucket, key }: BytesReference,
  abortSignal: AbortSignal,
): Promise<StoredBytes | null> {
  const at = { Bucket: bucket, Key: key }
  try {
    const found = await client.send(new HeadObjectCommand(at), { abortSignal })
    if (found.ContentLength === undefined) throw new Error('the response has no Content-Length')
    return {
      size: found.ContentLength,
      contentType: found.ContentType ?? null,
      eTag: found.ETag || null,
      attemptId: found.Metadata?.[ATTEMPT_METADATA] ?? null,
    }
  } catch (error) {
    // A response to HEAD has no body, so find out the reason with another request.
    if (isBadRequest(error) && (await isEncryptedObject(client, at, abortSignal))) {
      return encryptedObject(client, at, abortSignal)
    }
    if (!isNotFound(error)) throw error
  }
  // Checked every time, because a missing bucket is an error and buckets can be deleted.
  await client.send(new HeadBucketCommand({ Bucket: bucket }), { abortSignal })
  return null
}

interface At {
  readonly Bucket: string
  readonly Key: string
}

/** Returns whether the object is encrypted with a key that only its writer has (SSE-C). */
async function isEncryptedObject(client: S3Client, at: At, abortSignal: AbortSignal): Promise<boolean> {
  try {
    const { Body } = await client.send(new GetObjectCommand({ ...at, Range: 'bytes=0-0' }), { abortSignal })
    await Body?.transformToByteArray()
    return false
  } catch (error) {
    return isCustomerEncrypted(error)
  }
}

/** Describes such an object from a listing. It has no attempt id, so it never matches an upload request. */
async function encryptedObject(
  client: S3Client,
  at: At,
  abortSignal: AbortSignal,
): Promise<StoredBytes | null> {
  const command = new ListObjectsV2Command({
    Bucket: at.Bucket,
    Prefix: at.Key,
    // The key itself sorts before all longer keys with this prefix.
    MaxKeys: 1,
    EncodingType: 'url',
  })
  const { Contents: [found] = [] } = await client.send(command, { abortSignal })
  return found ? { size: found.Size ?? 0, contentType: null, eTag: null, attemptId: null } : null
}
