import { cleanUp } from '@svc/db'
import { PART as PART_OF_FILES } from './files/bodies.js'
import * as multipart from './multipart/in-parts.js'
import { bytesOfSize, type Service, type ServiceOptions } from './service.js'
import {
  KEY,
  LATER,
  OWNER,
  partsOf,
  putReport,
  putReportInParts,
  uploadReport,
  type Content,
  type Subject,
  type World,
} from './world.js'

/** An operation during which a process crashes. */
export interface CrashFlow {
  readonly options?: ServiceOptions
  /** Creates the initial state and returns the subject of the operation. */
  readonly prepare: (service: Service, world: World) => Promise<Subject>
  /** The operation that crashes and may be retried. Returns the status of its response, if it has one. */
  readonly act: (service: Service, subject: Subject) => Promise<number | null>
  /** The statuses that a retry may return. */
  readonly retryStatuses: readonly (number | null)[]
  /** The content that the key may have in the end, with a retry of the operation and without. */
  readonly finalContent: {
    readonly afterRetry: readonly Content[]
    readonly withoutRetry: readonly Content[]
  }
}

const always = (content: Content) => ({ afterRetry: [content], withoutRetry: [content] })
/** A removal is complete after a retry. Without one, the content may still be there. */
const removal = (content: Content) => ({ afterRetry: [null], withoutRetry: [null, content] })
/** A replacement is complete after a retry. Without one, the old content may still be there. */
const replacing = { afterRetry: [2], withoutRetry: [1, 2] }

const statusOf = async (response: Promise<Response>) => (await response).status

type Prepare = CrashFlow['prepare']
type Act = CrashFlow['act']

const flow = (
  prepare: Prepare,
  act: Act,
  retryStatuses: CrashFlow['retryStatuses'],
  finalContent: CrashFlow['finalContent'],
  options: ServiceOptions = {},
): CrashFlow => ({ prepare, act, retryStatuses, finalContent, options })

const object: Prepare = (service) => uploadReport(service, 1)
const upload: Prepare = (service) => putReport(service, 1)
const uploadInParts: Prepare = (service) => putReportInParts(service, 1)
const replacement: Prepare = async (service) => {
  await uploadReport(service, 1)
  return putReport(service, 2)
}
const replacementInParts: Prepare = async (service) => {
  await uploadReport(service, 1)
  return putReportInParts(service, 2)
}
/** Bytes that appear to differ from the upload request. */
const tampered =
  (prepare: Prepare): Prepare =>
  async (service, world) => {
    const subject = await prepare(service, world)
    world.tampered.add((await world.objects.findPending(subject))!.storageKey!)
    return subject
  }
const expired =
  (prepare: Prepare): Prepare =>
  async (service, world) => {
    const subject = await prepare(service, world)
    world.clock.advance(LATER)
    return subject
  }

/** An object past its end. */
const ending =
  (make: Prepare): Prepare =>
  async (service, world) => {
    const subject = await make(service, world)
    const { key } = subject
    await world.objects.update({ bucket: world.bucketName, key, temporarySeconds: 1 })
    world.clock.advance(LATER)
    return subject
  }
const endedBesideUpload: Prepare = async (service, world) => {
  await ending(object)(service, world)
  return putReport(service, 2)
}
/** An object that stays, and two objects past their end, which fill the quota. */
const endedInFullQuota: Prepare = async (service, world) => {
  const other: Prepare = ({ as }) => as(OWNER).upload({ route: 'others' })
  for (let count = 0; count < 2; count++) await ending(other)(service, world)
  return uploadReport(service, 1)
}

const begin: Act = (service) => statusOf(service.as(OWNER).begin({ route: 'docs' }))
const confirm: Act = (service, subject) => statusOf(service.as(OWNER).confirm(subject))
const abort: Act = (service, subject) => statusOf(service.as(OWNER).abort(subject))
const remove: Act = (service, { key }) => statusOf(service.as(OWNER).delete(key))
const beginInParts: Act = (service) => statusOf(multipart.begin(service.as(OWNER), { route: 'docs' }))
const complete: Act = (service, subject) => statusOf(multipart.complete(service.as(OWNER), partsOf(subject)))
const abortParts: Act = (service, subject) => statusOf(multipart.abort(service.as(OWNER), partsOf(subject)))
const job: Act = ({ s3 }) => cleanUp(s3).then(() => null)
const discardingJob: Act = ({ s3 }) => cleanUp(s3, { unconfirmed: 'discard' }).then(() => null)

const leftovers: Prepare = async (service) => {
  await uploadReport(service, 1)
  await service.as(OWNER).abort(await putReport(service, 2))
  return uploadReport(service, 3)
}

const fullQuota: Prepare = async (service) => {
  const subject = await putReport(service, 1)
  for (let count = 0; count < 2; count++) await service.as(OWNER).begun({ route: 'others' })
  return subject
}

const replacementBesideAnother: Prepare = async (service) => {
  await uploadReport(service, 1)
  await service.as('user:2').begin({ route: 'others' })
  return putReport(service, 2)
}

/** The state after a crash between creating a multipart upload and recording its id. */
const unrecordedUpload: Prepare = async (service, world) => {
  const { objects, bucket, bucketName } = world
  const subject = await replacementInParts(service, world)
  const { key } = (await service.as(OWNER).begun({ route: 'docs' })).object
  const { storageKey } = (await objects.findPending({ bucket: bucketName, key }))!
  const at = { bucket: bucketName, key: storageKey!, contentType: 'text/plain', attemptId: subject.id }
  await bucket.multipart!.create(at)
  await objects.release({ bucket: bucketName, key })
  return subject
}

/** The state after a crash between completing a multipart upload and confirming it. */
const completedUpload: Prepare = async (service, world) => {
  const { objects, bucket, bucketName } = world
  const subject = await replacementInParts(service, world)
  const { storageKey } = (await objects.findPending(subject))!
  const at = { bucket: bucketName, key: storageKey!, uploadId: subject.uploadId! }
  const { parts } = (await bucket.multipart!.listParts({ ...at, after: 0 }))!
  await bucket.multipart!.complete({ ...at, parts })
  return subject
}

/** Stores the report by `files.put`. Returns no status, because a call of the server has none. */
const putFile =
  (body: Uint8Array): Act =>
  ({ s3 }) =>
    s3.files.put({ scope: OWNER, route: 'docs', contentType: 'text/plain', body, key: KEY }).then(() => null)

/** The same with a body that fails. */
const putFailing =
  (size: number, ...chunks: Uint8Array[]): Act =>
  ({ s3 }) =>
    s3.files
      .put({ scope: OWNER, route: 'docs', key: KEY, size, body: failing(...chunks) })
      .then(() => 200)
      .catch(() => null)

/** Two parts, whose first byte is `fill`. */
const twoParts = (fill: number) => new Uint8Array(PART_OF_FILES + 1).fill(fill, 0, 1)

async function* failing(...chunks: Uint8Array[]): AsyncGenerator<Uint8Array, void> {
  yield* chunks
  throw new Error('reset')
}

export const smallCrashFlows: Readonly<Record<string, CrashFlow>> = {
  'the start of an upload': flow(object, begin, [201], always(1)),
  'a confirm': flow(upload, confirm, [200], always(1)),
  'a confirm of a replacement': flow(replacement, confirm, [200], always(2)),
  'a confirm of bytes that do not match the request': flow(
    tampered(replacement),
    confirm,
    [409, 404],
    always(1),
  ),
  // A finished upload is not lost if its abort did not happen.
  'an abort': flow(upload, abort, [204, 404], removal(1)),
  'an abort of a replacement': flow(tampered(replacement), abort, [204, 404], always(1)),
  'a soft delete': flow(object, remove, [204, 404], removal(1)),
  'a hard delete of an object and its replacement': flow(replacement, remove, [204, 404], removal(2), {
    deleteMode: 'hard',
  }),
  'a cleanUp that confirms an expired upload': flow(
    expired(replacementBesideAnother),
    job,
    [null],
    always(2),
  ),
  // A later run, which confirms, finds no match.
  'a cleanUp that discards expired uploads': flow(
    expired(tampered(replacement)),
    discardingJob,
    [null],
    always(1),
  ),
  'a cleanUp of leftovers': flow(expired(leftovers), job, [null], always(3)),
  'an upload that frees quota from expired reservations': flow(
    expired(fullQuota),
    (service) => statusOf(service.as(OWNER).begin({ route: 'others' })),
    [201],
    always(1),
    { quota: { maxFiles: 3 } },
  ),
  'a cleanUp of an object past its end': flow(ending(object), job, [null], always(null)),
  'a cleanUp of an object past its end, beside an upload to its key': flow(
    endedBesideUpload,
    job,
    [null],
    always(2),
  ),
  'a cleanUp that keeps a used object past its end': flow(ending(object), job, [null], always(1), {
    isUsed: (objects) => objects.map(({ id }) => id),
  }),
  'an upload that frees quota from objects past their end': flow(
    endedInFullQuota,
    (service) => statusOf(service.as(OWNER).begin({ route: 'others' })),
    [201],
    always(1),
    { quota: { maxFiles: 3 } },
  ),
  'the start of a multipart upload': flow(object, beginInParts, [201], always(1)),
  'the start of a multipart upload that replaces another': flow(
    replacementInParts,
    beginInParts,
    [201],
    always(1),
  ),
  // cleanUp never completes an upload, and never loses a completed one.
  'a completion': flow(uploadInParts, complete, [200], { afterRetry: [1], withoutRetry: [null, 1] }),
  'a completion of a replacement': flow(replacementInParts, complete, [200], replacing),
  'a completion of bytes that do not match the request': flow(
    tampered(replacementInParts),
    complete,
    [409, 404],
    always(1),
  ),
  'an abort of a multipart upload': flow(replacementInParts, abortParts, [204, 404], always(1)),
  'a delete of an object and its multipart replacement': flow(
    replacementInParts,
    remove,
    [204, 404],
    removal(1),
  ),
  'a cleanUp of an expired multipart upload': flow(expired(replacementInParts), job, [null], always(1)),
  'a cleanUp of an unrecorded multipart upload': flow(expired(unrecordedUpload), job, [null], always(1)),
  'a cleanUp that confirms an expired completed upload': flow(
    expired(completedUpload),
    job,
    [null],
    always(2),
  ),
  'a put by the server': flow(object, putFile(bytesOfSize(3, 2)), [null], replacing),
  'a put by the server whose body fails': flow(object, putFailing(3), [null], always(1)),
  'a delete by the server': flow(
    object,
    ({ s3 }, { key }) => s3.files.delete({ key }).then(() => null),
    [null],
    removal(1),
  ),
}

export const crashFlows: Readonly<Record<string, CrashFlow>> = {
  ...smallCrashFlows,
  // Moves megabytes.
  'a put by the server in parts': flow(object, putFile(twoParts(2)), [null], replacing),
  'a put by the server in parts whose body fails': flow(
    object,
    putFailing(2 * PART_OF_FILES, twoParts(2)),
    [null],
    always(1),
  ),
}

const REPRESENTATIVE = [
  'a confirm of a replacement',
  'a hard delete of an object and its replacement',
  'the start of a multipart upload',
  'a completion of a replacement',
  'a cleanUp of an unrecorded multipart upload',
  'a put by the server',
]

/** Flows that together use every kind of call to a storage, for storages that are slow to test. */
export const representativeCrashFlows = Object.fromEntries(
  REPRESENTATIVE.map((name) => [name, crashFlows[name]!]),
)
