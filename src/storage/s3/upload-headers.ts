import type { CreateMultipartUploadCommandInput } from '@aws-sdk/client-s3'
import type { OptionChecks } from '../../core/option-checks.js'
import { shown } from '../../core/store/validation/checks.js'

/** The parameters of the SDK for the headers that every upload may have. */
const PARAMETERS = {
  'x-amz-server-side-encryption': 'ServerSideEncryption',
  'x-amz-server-side-encryption-aws-kms-key-id': 'SSEKMSKeyId',
  'x-amz-server-side-encryption-context': 'SSEKMSEncryptionContext',
  'x-amz-storage-class': 'StorageClass',
  'x-amz-acl': 'ACL',
  'x-amz-tagging': 'Tagging',
} as const satisfies Record<string, keyof CreateMultipartUploadCommandInput>

const NAMES: ReadonlySet<string> = new Set(Object.keys(PARAMETERS))

type UploadHeaderName = keyof typeof PARAMETERS

/** Headers that every upload has, by names in lower case. */
export type S3UploadHeaders = { readonly [Name in UploadHeaderName]?: string | null | undefined }

/** The headers of every upload, and the same as parameters of the SDK's commands. */
export interface UploadSettings {
  readonly headers: Readonly<Record<string, string>>
  readonly parameters: Pick<CreateMultipartUploadCommandInput, (typeof PARAMETERS)[UploadHeaderName]>
}

/** @throws TypeError that names the header. */
export function checkUploadHeaders(checks: OptionChecks, value: unknown): UploadSettings {
  if (value === undefined || value === null) return { headers: {}, parameters: {} }
  checks.nested('uploadHeaders', value, NAMES)
  const given = Object.entries(value as Record<string, string | null | undefined>).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== null,
  )
  const parameters = given.map(([name, text]: [string, unknown]) => {
    // What a header can carry, and a signature covers without a change.
    if (typeof text !== 'string' || !/^[!-~](?:[ -~]*[!-~])?$/.test(text)) {
      throw checks.error(`uploadHeaders[${shown(name)}] must be printable ASCII text (got ${shown(text)}).`)
    }
    return [PARAMETERS[name as UploadHeaderName], text]
  })
  return {
    headers: Object.fromEntries(given),
    parameters: Object.fromEntries(parameters) as UploadSettings['parameters'],
  }
}
