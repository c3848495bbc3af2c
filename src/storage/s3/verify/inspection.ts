import type { S3Client } from '@aws-sdk/client-s3'
import type { ObjectStorage } from '../../../core/object-storage.js'
import type { RunBucketCall } from '../calls.js'
import type { UploadSettings } from '../upload-headers.js'
import { failureOf, type Failure, type FindingList } from './failures.js'
import type { SendToURL } from './signed-urls.js'

/** The calls of `s3Storage`, which requests make as well. */
export type CheckedStorage = Required<
  Pick<ObjectStorage, 'signUpload' | 'signDownload' | 'head' | 'remove' | 'write' | 'read' | 'multipart'>
>

export interface VerifySettings {
  readonly client: S3Client
  /** Whether URLs have another address than the client, which this process may be unable to reach. */
  readonly hasPublicClient: boolean
  readonly createOnly: boolean
  readonly maxParts: number
  readonly timeoutSeconds: number
  readonly uploadHeaders: Pick<UploadSettings, 'headers'>
  readonly now: () => Date
}

/** What the checks of one run share. */
export interface Inspection extends VerifySettings {
  readonly bucket: string
  readonly signal: AbortSignal | undefined
  readonly origin: string | null
  readonly browserUploads: boolean
  readonly storage: CheckedStorage
  readonly run: RunBucketCall
  readonly sendToURL: SendToURL
  readonly findings: FindingList
}

/**
 * Returns the bucket and the signal of a call that reads. A call that writes has no signal, because it could take effect after it was
 * aborted, and thus after everything was removed.
 */
export function inputOf({ bucket, signal }: Pick<Inspection, 'bucket' | 'signal'>) {
  return { bucket, ...(signal && { signal }) }
}

/** Makes a call, unless the caller has aborted, and returns `null` if it fails. Rejects with the reason of the signal. */
export async function attempt<T>(
  { signal }: Pick<Inspection, 'signal'>,
  call: () => Promise<T>,
  explain: (failure: Failure) => void = () => undefined,
): Promise<{ readonly value: T } | null> {
  signal?.throwIfAborted()
  try {
    return { value: await call() }
  } catch (error) {
    signal?.throwIfAborted()
    explain(failureOf(error))
    return null
  }
}

/** A permission of docs/s3.md. */
type Permission =
  | 's3:PutObject'
  | 's3:GetObject'
  | 's3:DeleteObject'
  | 's3:ListBucket'
  | 's3:AbortMultipartUpload'
  | 's3:ListMultipartUploadParts'
  | 's3:ListBucketMultipartUploads'

/** Adds a finding for what the service refuses, which names the permission if one is missing. */
export function addRefusal(
  { bucket, findings }: Pick<Inspection, 'bucket' | 'findings'>,
  failure: Failure,
  { permission, what }: { readonly permission: Permission; readonly what: string },
): void {
  const { status, isForeign, reason } = failure
  if (status === 403 && !isForeign) {
    // A policy may also demand a header of uploads, such as encryption.
    const other = permission === 's3:PutObject' ? ', or set uploadHeaders if a policy demands them' : ''
    const message = `The account of the client needs ${permission} for ${what}: allow it in the policy of bucket "${bucket}"${other} (${reason}).`
    return findings.add('permissions', message, permission)
  }
  findings.add(
    'bucket',
    `Requests for ${what} fail in bucket "${bucket}": see docs/s3.md for what the service needs (${reason}).`,
    `failed ${permission}`,
  )
}
