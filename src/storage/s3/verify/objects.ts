import type { SignedUpload, SignUploadInput, StoredBytes } from '../../../core/object-storage.js'
import { allowsOrigin } from './cors.js'
import { failureOfURL, isOfRegion, type Failure } from './failures.js'
import { addRefusal, attempt, type Inspection } from './inspection.js'
import { probeKey, removeProbes } from './probes.js'
import { addForeign, addRegion, addRetention } from './reach.js'
import type { UrlRequest, UrlResponse } from './signed-urls.js'

const BODY = new TextEncoder().encode('Written by verify of @svc/db.')
const RANGE = { start: 1, end: 4 }
const URL_MS = 15 * 60 * 1000

/** An object that a check writes, with the URL that uploads it. */
export interface Probe {
  readonly terms: SignUploadInput
  readonly upload: SignedUpload
}

/** Signs the upload of a probe. */
export async function signProbe(inspection: Inspection): Promise<Probe | null> {
  const { storage, bucket, now, findings } = inspection
  const terms = {
    ...{ bucket, key: probeKey(), attemptId: crypto.randomUUID() },
    ...{ size: BODY.byteLength, contentType: 'text/plain' },
    ...{ expiresAt: new Date(now().getTime() + URL_MS), serverURL: '' },
  }
  const signed = await attempt(
    inspection,
    () => storage.signUpload(terms),
    ({ reason }) =>
      findings.add('bucket', `No URL of bucket "${bucket}" can be signed: correct the client (${reason}).`),
  )
  return signed && { terms, upload: signed.value }
}

/**
 * Uploads the probe by its URL, tries to replace it, and reads it in every way. Returns `false` if the service holds no object, so that
 * parts need not be tried.
 */
export async function checkObjects(inspection: Inspection, { terms, upload }: Probe): Promise<boolean> {
  const keys = new Set([terms.key])
  try {
    const outcome = await uploadProbe(inspection, upload)
    if (outcome === 'retention' || outcome === 'unusable') return false
    if (outcome === 'refused') return true
    if (outcome === 'stored') await checkSecondUpload(inspection, upload)
    const mayWrite = await checkWrite(inspection, terms, outcome)
    const isDescribed = await checkDescription(inspection, terms)
    if (isDescribed && (await checkDownload(inspection, terms))) await checkRange(inspection, terms)
    if (mayWrite) await checkLongName(inspection, terms, keys)
    return true
  } finally {
    await removeProbes(inspection, { keys, uploads: [] })
  }
}

/** Sends a request to a signed URL. Returns `null` without a response, which is a finding unless only browsers reach the address. */
export async function sendSigned(inspection: Inspection, request: UrlRequest): Promise<UrlResponse | null> {
  const { findings, hasPublicClient, sendToURL } = inspection
  const sent = await attempt(
    inspection,
    () => sendToURL(request),
    ({ reason }) => {
      if (hasPublicClient) return
      const message = `Signed URLs can't be reached at ${new URL(request.url).host}: check the endpoint of the client and proxies (${reason}).`
      findings.add('bucket', message, 'urls')
    },
  )
  return sent && sent.value
}

/** Adds a finding for a refused URL. */
export function addRefusedURL(
  inspection: Inspection,
  failure: Failure,
  needs: Parameters<typeof addRefusal>[2],
): void {
  const { bucket, findings } = inspection
  const { isForeign, code, reason } = failure
  if (isForeign) return addForeign(inspection, reason)
  if (isOfRegion(failure)) return addRegion(inspection, reason)
  if (code === 'SignatureDoesNotMatch' || code === 'InvalidAccessKeyId') {
    const message = `Bucket "${bucket}" refuses signed URLs: give publicClient the right credentials, and let proxies pass on Host and path unchanged (${reason}).`
    return findings.add('bucket', message, 'urls')
  }
  addRefusal(inspection, failure, needs)
}

/** `unreachable`: only browsers reach the address of URLs. */
type Outcome = 'stored' | 'refused' | 'retention' | 'unreachable' | 'unusable'

async function uploadProbe(inspection: Inspection, { url, headers }: SignedUpload): Promise<Outcome> {
  const { bucket, findings, origin, createOnly, hasPublicClient } = inspection
  const ofPage = origin === null ? headers : { ...headers, origin }
  const response = await sendSigned(inspection, { method: 'PUT', url, headers: ofPage, body: BODY })
  if (!response) return hasPublicClient ? 'unreachable' : 'unusable'
  if (origin !== null && !allowsOrigin(response, origin)) {
    const message = `Responses to uploads have no Access-Control-Allow-Origin for ${origin}, so browsers report a failure: set the CORS rules of bucket "${bucket}".`
    findings.add('cors', message, 'origin')
  }
  const failure = failureOfURL(response)
  if (!failure) return 'stored'
  if (createOnly && failure.status === 501) {
    addNoConditions(inspection, failure)
    return 'refused'
  }
  if (failure.status === 400 && /Object Lock|Content-MD5|x-amz-checksum/i.test(failure.reason)) {
    addRetention(inspection, failure.reason)
    return 'retention'
  }
  addRefusedURL(inspection, failure, { permission: 's3:PutObject', what: 'uploads' })
  return 'refused'
}

function addNoConditions({ bucket, findings }: Inspection, { reason }: Failure): void {
  const message = `Bucket "${bucket}" refuses conditional writes, so no upload works: set createOnly of s3Storage to false (${reason}).`
  findings.add('conditional-writes', message, 'conditions')
}

function addIgnoredConditions({ bucket, findings }: Inspection): void {
  const message = `Bucket "${bucket}" ignores If-None-Match, so an upload URL can replace a file until it expires: update the service, or set createOnly of s3Storage to false, which makes the server allow for it.`
  findings.add('conditional-writes', message, 'conditions')
}

/** Uploads again, which must be refused, because the object is there. */
async function checkSecondUpload(inspection: Inspection, { url, headers }: SignedUpload): Promise<void> {
  const { bucket, createOnly, findings } = inspection
  if (!createOnly) return
  const response = await sendSigned(inspection, { method: 'PUT', url, headers, body: BODY })
  if (!response || response.status === 412) return
  const failure = failureOfURL(response)
  if (!failure) return addIgnoredConditions(inspection)
  const message = `Bucket "${bucket}" must refuse a second upload with 412: update the service, or set createOnly of s3Storage to false (${failure.reason}).`
  findings.add('conditional-writes', message, 'conditions')
}

/** Writes the object as `files.put` does. Returns whether that works. */
async function checkWrite(
  inspection: Inspection,
  terms: SignUploadInput,
  outcome: Outcome,
): Promise<boolean> {
  const { storage, createOnly } = inspection
  const written = await attempt(
    inspection,
    () => storage.write({ ...terms, body: BODY }),
    (failure) => {
      if (createOnly && failure.status === 501) addNoConditions(inspection, failure)
      else addRefusal(inspection, failure, { permission: 's3:PutObject', what: 'writes of the server' })
    },
  )
  if (written?.value && createOnly && outcome === 'stored') addIgnoredConditions(inspection)
  return written !== null
}

/** How long to wait before each further look at a new object, in milliseconds. */
const PAUSES = [0, 250, 500, 1000, 2000]

/** Looks at the object as a confirm does. */
async function checkDescription(inspection: Inspection, terms: SignUploadInput): Promise<boolean> {
  const { storage, bucket, findings } = inspection
  let found: { readonly value: StoredBytes | null } | null = null
  for (const pause of PAUSES) {
    await new Promise((resolve) => setTimeout(resolve, pause))
    found = await attempt(
      inspection,
      () => storage.head(terms),
      (failure) =>
        addRefusal(inspection, failure, { permission: 's3:GetObject', what: 'confirms and downloads' }),
    )
    if (found?.value !== null) break
  }
  if (!found) return false
  addMisdescription(inspection, terms, found.value)
  if (found.value) return true
  const message = `Bucket "${bucket}" accepts uploads but does not return them: check that the endpoint is that of the S3 API.`
  findings.add('bucket', message, 'foreign')
  return false
}

/** Adds a finding for bytes that no confirm would take for those of the attempt. */
export function addMisdescription(
  { bucket, findings }: Inspection,
  { size, attemptId }: Pick<SignUploadInput, 'size' | 'attemptId'>,
  found: StoredBytes | null,
): void {
  if (!found || (found.size === size && found.attemptId === attemptId)) return
  const lost = found.size === size ? 'the header x-amz-meta-attempt-id' : 'the size'
  const message = `Bucket "${bucket}" does not return ${lost} of uploads, so none can be confirmed: check the endpoint and proxies.`
  findings.add('bucket', message, 'description')
}

/** Downloads the object by a URL. Returns whether the server can read it as well. */
async function checkDownload(inspection: Inspection, terms: SignUploadInput): Promise<boolean> {
  const { storage, bucket, findings } = inspection
  const input = { ...terms, filename: 'verify.txt' }
  const signed = await attempt(inspection, () => storage.signDownload(input))
  if (!signed) return false
  const response = await sendSigned(inspection, { method: 'GET', url: signed.value.url })
  if (!response) return true
  const failure = failureOfURL(response)
  if (failure) {
    addRefusedURL(inspection, failure, { permission: 's3:GetObject', what: 'confirms and downloads' })
    return false
  }
  if (isSame(response.body, BODY)) return true
  const message = `Bucket "${bucket}" returns other bytes than it was sent: check the endpoint and proxies.`
  findings.add('bucket', message)
  return false
}

async function checkRange(inspection: Inspection, terms: SignUploadInput): Promise<void> {
  const { storage, bucket, findings } = inspection
  const addNoRanges = (reason: string) => {
    const message = `Bucket "${bucket}" does not return ranges of files, so players can't seek: use a service or a proxy that supports Range (${reason}).`
    findings.add('bucket', message, 'ranges')
  }
  const read = await attempt(
    inspection,
    async () => {
      const stream = await storage.read({ ...terms, range: RANGE })
      return stream && new Uint8Array(await new Response(stream).arrayBuffer())
    },
    (failure) => {
      if (failure.status === 403) {
        addRefusal(inspection, failure, { permission: 's3:GetObject', what: 'confirms and downloads' })
      } else addNoRanges(failure.reason)
    },
  )
  if (read && !isSame(read.value, BODY.subarray(RANGE.start, RANGE.end + 1))) {
    addNoRanges('the response has other bytes')
  }
}

function isSame(one: Uint8Array | null, other: Uint8Array): boolean {
  return one?.byteLength === other.byteLength && one.every((byte, index) => byte === other[index])
}

/** The longest segment of the keys that the server makes, in bytes. */
const LONGEST_NAME = 255

async function checkLongName(
  inspection: Inspection,
  terms: SignUploadInput,
  keys: Set<string>,
): Promise<void> {
  const { storage, bucket, findings } = inspection
  const name = terms.key.slice(terms.key.lastIndexOf('/') + 1)
  const key = terms.key + '-'.repeat(LONGEST_NAME - name.length)
  keys.add(key)
  await attempt(
    inspection,
    () => storage.write({ ...terms, key, body: BODY }),
    ({ reason }) => {
      const message = `Bucket "${bucket}" refuses names of ${LONGEST_NAME} bytes, so files with long names fail: raise the limit of the service, or shorten names in the key of routes (${reason}).`
      findings.add('bucket', message)
    },
  )
}
