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

export const statusOf = async (response: Promise<Response>) => (await response).status

const singlePutFlows: Record<string, CrashFlow> = {
  'the start of an upload': {
    prepare: (service) => uploadReport(service, 1),
    act: (service) => statusOf(service.as(OWNER).begin({ route: 'docs' })),
    retryStatuses: [201],
    finalContent: always(1),
  },
  'a confirm': {
    prepare: (service) => putReport(service, 1),
    act: (service, object) => statusOf(service.as(OWNER).confirm(object)),
    retryStatuses: [200],
    finalContent: always(1),
  },
  'a confirm of a replacement': {
    async prepare(service) {
      await uploadReport(service, 1)
      return putReport(service, 2)
    },
    act: (service, object) => statusOf(service.as(OWNER).confirm(object)),
    retryStatuses: [200],
    finalContent: always(2),
  },
  'a confirm of bytes that do not match the request': {
    async prepare(service, { objects, tampered }) {
      await uploadReport(service, 1)
      const object = await putReport(service, 2)
      tampered.add((await objects.findPending(object))!.storageKey!)
      return object
    },
    act: (service, object) => statusOf(service.as(OWNER).confirm(object)),
    retryStatuses: [409, 404],
    finalContent: always(1),
  },
  'an abort': {
    prepare: (service) => putReport(service, 1),
    act: (service, object) => statusOf(service.as(OWNER).abort(object)),
    retryStatuses: [204, 404],
    // A finished upload is not lost if its abort did not happen.
    finalContent: { afterRetry: [null], withoutRetry: [null, 1] },
  },
  'an abort of a replacement': {
    async prepare(service) {
      await uploadReport(service, 1)
      return (await service.as(OWNER).begun({ route: 'docs' })).object
    },
    act: (service, object) => statusOf(service.as(OWNER).abort(object)),
    retryStatuses: [204, 404],
    finalContent: always(1),
  },
  'a soft delete': {
    prepare: (service) => uploadReport(service, 1),
    act: (service, { key }) => statusOf(service.as(OWNER).delete(key)),
    retryStatuses: [204, 404],
    finalContent: { afterRetry: [null], withoutRetry: [null, 1] },
  },
  'a hard delete of an object and its replacement': {
    options: { deleteMode: 'hard' },
    async prepare(service) {
      await uploadReport(service, 1)
      return putReport(service, 2)
    },
    act: (service, { key }) => statusOf(service.as(OWNER).delete(key)),
    retryStatuses: [204, 404],
    finalContent: { afterRetry: [null], withoutRetry: [null, 2] },
  },
  'a cleanUp that confirms an expired upload': {
    async prepare(service, { clock }) {
      await uploadReport(service, 1)
      await service.as('user:2').begun({ route: 'others' })
      const object = await putReport(service, 2)
      clock.advance(LATER)
      return object
    },
    act: ({ s3 }) => cleanUp(s3).then(() => null),
    retryStatuses: [null],
    finalContent: always(2),
  },
  'a cleanUp that discards expired uploads': {
    async prepare(service, { clock, tampered, objects }) {
      await uploadReport(service, 1)
      const object = await putReport(service, 2)
      // Prevents a later run, which confirms, from finding a match.
      tampered.add((await objects.findPending(object))!.storageKey!)
      clock.advance(LATER)
      return object
    },
    act: ({ s3 }) => cleanUp(s3, { unconfirmed: 'discard' }).then(() => null),
    retryStatuses: [null],
    finalContent: always(1),
  },
  'a cleanUp of leftovers': {
    async prepare(service, { clock }) {
      await uploadReport(service, 1)
      await service.as(OWNER).abort(await putReport(service, 2))
      const object = await uploadReport(service, 3)
      clock.advance(LATER)
      return object
    },
    act: ({ s3 }) => cleanUp(s3).then(() => null),
    retryStatuses: [null],
    finalContent: always(3),
  },
  'an upload that frees quota from expired reservations': {
    options: { quota: { maxFiles: 3 } },
    async prepare(service, { clock }) {
      const object = await putReport(service, 1)
      await service.as(OWNER).begun({ route: 'others' })
      await service.as(OWNER).begun({ route: 'others' })
      clock.advance(LATER)
      return object
    },
    act: (service) => statusOf(service.as(OWNER).begin({ route: 'others' })),
    retryStatuses: [201],
    finalContent: always(1),
  },
}

const multipartFlows: Record<string, CrashFlow> = {
  'the start of a multipart upload': {
    prepare: (service) => uploadReport(service, 1),
    act: (service) => statusOf(multipart.begin(service.as(OWNER), { route: 'docs' })),
    retryStatuses: [201],
    finalContent: always(1),
  },
  'the start of a multipart upload that replaces another': {
    async prepare(service) {
      await uploadReport(service, 1)
      return putReportInParts(service, 2)
    },
    act: (service) => statusOf(multipart.begin(service.as(OWNER), { route: 'docs' })),
    retryStatuses: [201],
    finalContent: always(1),
  },
  'a completion': {
    prepare: (service) => putReportInParts(service, 1),
    act: (service, subject) => statusOf(multipart.complete(service.as(OWNER), partsOf(subject))),
    retryStatuses: [200],
    // cleanUp never completes an upload, and never loses a completed one.
    finalContent: { afterRetry: [1], withoutRetry: [null, 1] },
  },
  'a completion of a replacement': {
    async prepare(service) {
      await uploadReport(service, 1)
      return putReportInParts(service, 2)
    },
    act: (service, subject) => statusOf(multipart.complete(service.as(OWNER), partsOf(subject))),
    retryStatuses: [200],
    finalContent: { afterRetry: [2], withoutRetry: [1, 2] },
  },
  'a completion of bytes that do not match the request': {
    async prepare(service, { objects, tampered }) {
      await uploadReport(service, 1)
      const subject = await putReportInParts(service, 2)
      tampered.add((await objects.findPending(subject))!.storageKey!)
      return subject
    },
    act: (service, subject) => statusOf(multipart.complete(service.as(OWNER), partsOf(subject))),
    retryStatuses: [409, 404],
    finalContent: always(1),
  },
  'an abort of a multipart upload': {
    async prepare(service) {
      await uploadReport(service, 1)
      return putReportInParts(service, 2)
    },
    act: (service, subject) => statusOf(multipart.abort(service.as(OWNER), partsOf(subject))),
    retryStatuses: [204, 404],
    finalContent: always(1),
  },
  'a delete of an object and its multipart replacement': {
    async prepare(service) {
      await uploadReport(service, 1)
      return putReportInParts(service, 2)
    },
    act: (service, { key }) => statusOf(service.as(OWNER).delete(key)),
    retryStatuses: [204, 404],
    finalContent: { afterRetry: [null], withoutRetry: [null, 1] },
  },
  'a cleanUp of an expired multipart upload': {
    async prepare(service, { clock }) {
      await uploadReport(service, 1)
      const subject = await putReportInParts(service, 2)
      clock.advance(LATER)
      return subject
    },
    act: ({ s3 }) => cleanUp(s3).then(() => null),
    retryStatuses: [null],
    finalContent: always(1),
  },
  'a cleanUp of an unrecorded multipart upload': {
    async prepare(service, { clock, objects, bucket, bucketName }) {
      await uploadReport(service, 1)
      const subject = await putReportInParts(service, 2)
      const { key } = (await service.as(OWNER).begun({ route: 'docs' })).object
      const { storageKey } = (await objects.findPending({ bucket: bucketName, key }))!
      // The state after a crash between creating the upload and recording its id.
      const at = { bucket: bucketName, key: storageKey!, contentType: 'text/plain', attemptId: subject.id }
      await bucket.multipart!.create(at)
      await objects.release({ bucket: bucketName, key })
      clock.advance(LATER)
      return subject
    },
    act: ({ s3 }) => cleanUp(s3).then(() => null),
    retryStatuses: [null],
    finalContent: always(1),
  },
  'a cleanUp that confirms an expired completed upload': {
    async prepare(service, { clock, objects, bucket, bucketName }) {
      await uploadReport(service, 1)
      const subject = await putReportInParts(service, 2)
      const { storageKey } = (await objects.findPending(subject))!
      const at = { bucket: bucketName, key: storageKey!, uploadId: subject.uploadId! }
      const { parts } = (await bucket.multipart!.listParts({ ...at, after: 0 }))!
      await bucket.multipart!.complete({ ...at, parts })
      clock.advance(LATER)
      return subject
    },
    act: ({ s3 }) => cleanUp(s3).then(() => null),
    retryStatuses: [null],
    finalContent: always(2),
  },
}

/** Stores the report by `files.put`. Returns no status, because a call of the server has none. */
const putFile = (service: Service, body: Uint8Array, key = KEY) =>
  service.s3.files.put({ scope: OWNER, route: 'docs', contentType: 'text/plain', body, key }).then(() => null)

/** Two parts, whose first byte is `fill`. */
const twoParts = (fill: number) => new Uint8Array(PART_OF_FILES + 1).fill(fill, 0, 1)

const filesFlows: Record<string, CrashFlow> = {
  'a put by the server': {
    prepare: (service) => uploadReport(service, 1),
    act: (service) => putFile(service, bytesOfSize(3, 2)),
    retryStatuses: [null],
    finalContent: { afterRetry: [2], withoutRetry: [1, 2] },
  },
  'a put by the server whose body fails': {
    prepare: (service) => uploadReport(service, 1),
    act: ({ s3 }) =>
      s3.files
        .put({ scope: OWNER, route: 'docs', key: KEY, size: 3, body: failing() })
        .then(() => 200)
        .catch(() => null),
    retryStatuses: [null],
    finalContent: always(1),
  },
  'a delete by the server': {
    prepare: (service) => uploadReport(service, 1),
    act: ({ s3 }, { key }) => s3.files.delete({ key }).then(() => null),
    retryStatuses: [null],
    finalContent: { afterRetry: [null], withoutRetry: [null, 1] },
  },
}

async function* failing(...chunks: Uint8Array[]): AsyncGenerator<Uint8Array, void> {
  yield* chunks
  throw new Error('reset')
}

/** Moves megabytes. */
const largeFlows: Record<string, CrashFlow> = {
  'a put by the server in parts': {
    prepare: (service) => uploadReport(service, 1),
    act: (service) => putFile(service, twoParts(2)),
    retryStatuses: [null],
    finalContent: { afterRetry: [2], withoutRetry: [1, 2] },
  },
  'a put by the server in parts whose body fails': {
    prepare: (service) => uploadReport(service, 1),
    act: ({ s3 }) =>
      s3.files
        .put({ scope: OWNER, route: 'docs', key: KEY, size: 2 * PART_OF_FILES, body: failing(twoParts(2)) })
        .then(() => 200)
        .catch(() => null),
    retryStatuses: [null],
    finalContent: always(1),
  },
}

export const smallCrashFlows: Readonly<Record<string, CrashFlow>> = {
  ...singlePutFlows,
  ...multipartFlows,
  ...filesFlows,
}

export const crashFlows: Readonly<Record<string, CrashFlow>> = { ...smallCrashFlows, ...largeFlows }

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
