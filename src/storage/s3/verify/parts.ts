import type { MultipartReference } from '../../../core/object-storage.js'
import { failureOfURL, type Failure } from './failures.js'
import { addRefusal, attempt, inputOf, type Inspection } from './inspection.js'
import { addMisdescription, addRefusedURL, sendSigned } from './objects.js'
import { probeKey, removeProbes } from './probes.js'

const BODY = new TextEncoder().encode('part')
const URL_MS = 15 * 60 * 1000
const CONTENT_TYPE = 'text/plain'
const UPLOADS = { permission: 's3:PutObject', what: 'uploads in parts' } as const

/** Completes one upload in parts, and aborts another one after its highest part number. */
export async function checkParts(
  inspection: Inspection,
  { mayList }: { readonly mayList: boolean },
): Promise<void> {
  const { storage, bucket } = inspection
  const at = { bucket, key: probeKey(), attemptId: crypto.randomUUID() }
  const open = new Set<string>()
  // Without the right to list, the service may refuse what isn't there.
  if (mayList && !(await mayListParts(inspection, at.key))) return

  async function begin(): Promise<MultipartReference | null> {
    const begun = await attempt(
      inspection,
      () => storage.multipart.create({ ...at, contentType: CONTENT_TYPE }),
      (failure) => addRefusedUpload(inspection, failure),
    )
    const upload = begun && { bucket, key: at.key, ...begun.value }
    if (upload) open.add(upload.uploadId)
    return upload
  }

  try {
    const first = await begin()
    if (!first) return
    await checkUploadList(inspection, first)
    if (!(await checkPart(inspection, first))) return
    if (await complete(inspection, first, at.attemptId)) open.delete(first.uploadId)
    const second = await begin()
    if (second) await checkHighestPart(inspection, second)
  } finally {
    // A create without a response may have begun one.
    const ids = await attempt({ signal: undefined }, () => storage.multipart.list({ bucket, key: at.key }))
    for (const uploadId of ids?.value ?? []) open.add(uploadId)
    const uploads = [...open].map((uploadId) => ({ bucket, key: at.key, uploadId }))
    await removeProbes(inspection, { keys: [at.key], uploads })
  }
}

/** Lists the parts of an upload that isn't there, because a refusal after its creation wouldn't tell which permission is missing. */
async function mayListParts(inspection: Inspection, key: string): Promise<boolean> {
  let isRefused = false
  await attempt(
    inspection,
    () =>
      inspection.storage.multipart.listParts({
        ...{ ...inputOf(inspection), key, uploadId: crypto.randomUUID(), after: 0 },
      }),
    (failure) => {
      isRefused = failure.status === 403
      if (!isRefused) return
      addRefusal(inspection, failure, { ...UPLOADS, permission: 's3:ListMultipartUploadParts' })
    },
  )
  return !isRefused
}

function addRefusedUpload(inspection: Inspection, failure: Failure): void {
  if (failure.status === null && failure.reason.includes('ListParts')) return addNoListParts(inspection)
  addRefusal(inspection, failure, UPLOADS)
}

function addNoListParts({ bucket, findings }: Inspection): void {
  const message = `Bucket "${bucket}" does not support ListParts, which uploads in parts need: use another service, or set multipart of createS3Server to false.`
  findings.add('bucket', message, 'ListParts')
}

async function checkUploadList(inspection: Inspection, upload: MultipartReference): Promise<void> {
  await attempt(
    inspection,
    () => inspection.storage.multipart.list(upload),
    (failure) => {
      const what = 'the clean-up of uploads in parts'
      addRefusal(inspection, failure, { permission: 's3:ListBucketMultipartUploads', what })
    },
  )
}

/** Sends a part by a signed URL, or as the server does where only browsers reach the URL. */
async function sendPart(
  inspection: Inspection,
  upload: MultipartReference,
  partNumber: number,
  explain: (failure: Failure) => void,
): Promise<boolean> {
  const { storage, now, hasPublicClient } = inspection
  const expiresAt = new Date(now().getTime() + URL_MS)
  const part = { ...upload, partNumber, size: BODY.byteLength, expiresAt, serverURL: '' }
  const signed = await attempt(inspection, () => storage.multipart.signPart(part), explain)
  if (!signed) return false
  const response = await sendSigned(inspection, { method: 'PUT', url: signed.value.url, body: BODY })
  if (response) {
    const failure = failureOfURL(response)
    if (failure) explain(failure)
    return failure === null
  }
  if (!hasPublicClient) return false
  return (
    (await attempt(inspection, () => storage.multipart.writePart!({ ...part, body: BODY }), explain)) !== null
  )
}

async function checkPart(inspection: Inspection, upload: MultipartReference): Promise<boolean> {
  return sendPart(inspection, upload, 1, (failure) => addRefusedURL(inspection, failure, UPLOADS))
}

/** Completes an upload from the parts that the service lists. Returns whether it has ended. */
async function complete(
  inspection: Inspection,
  upload: MultipartReference,
  attemptId: string,
): Promise<boolean> {
  const { storage, bucket, findings } = inspection
  const page = await attempt(
    inspection,
    () => storage.multipart.listParts({ ...upload, after: 0 }),
    (failure) => addRefusal(inspection, failure, { ...UPLOADS, permission: 's3:ListMultipartUploadParts' }),
  )
  if (!page) return false
  const parts = page.value?.parts ?? []
  if (parts.length === 0) {
    addNoListParts(inspection)
    return false
  }
  const completed = await attempt(
    inspection,
    () => storage.multipart.complete({ ...upload, parts }),
    (failure) => addRefusal(inspection, failure, UPLOADS),
  )
  if (!completed) return false
  if (!completed.value) {
    const message = `Bucket "${bucket}" does not complete an upload with the parts that it lists: use another service, or set multipart of createS3Server to false.`
    findings.add('bucket', message)
    return false
  }
  const found = await attempt(inspection, () => storage.head(upload))
  addMisdescription(inspection, { size: BODY.byteLength, attemptId }, found && found.value)
  return true
}

/** Sends a part with the highest number that large files use. */
async function checkHighestPart(inspection: Inspection, upload: MultipartReference): Promise<void> {
  const { bucket, findings, maxParts } = inspection
  await sendPart(inspection, upload, maxParts, ({ reason }) => {
    const message = `Bucket "${bucket}" refuses part ${maxParts} of an upload: set maxParts of s3Storage to the limit of the service, often 1000 (${reason}).`
    findings.add('bucket', message)
  })
}
