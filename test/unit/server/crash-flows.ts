import { cleanUp } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { Crash } from './crash.js'
import * as multipart from './multipart/in-parts.js'
import type { Service, ServiceOptions } from './service.js'
import {
  cleanUpUntilQuiet,
  contentOf,
  createWorld,
  expectTidy,
  LATER,
  OWNER,
  partsOf,
  putReport,
  putReportInParts,
  uploadReport,
  type Content,
  type Subject,
  type World,
  type WorldPlace,
} from './world.js'

interface Flow {
  readonly options?: ServiceOptions
  /** What is there before; resolves to what the act is about. */
  readonly prepare: (service: Service, world: World) => Promise<Subject>
  /** What the process is doing when it stops, and what is done again afterwards. Resolves to the status of the answer, if it is one. */
  readonly act: (service: Service, subject: Subject) => Promise<number | null>
  /** What a repetition may answer. */
  readonly repeated: readonly (number | null)[]
  /** What may be at the key in the end: when the act was repeated, and when it was not. */
  readonly inTheEnd: { readonly repeated: readonly Content[]; readonly left: readonly Content[] }
}

const always = (content: Content) => ({ repeated: [content], left: [content] })
const statusOf = async (response: Promise<Response>) => (await response).status

const flows: Record<string, Flow> = {
  'an upload that begins': {
    prepare: (service) => uploadReport(service, 1),
    act: (service) => statusOf(service.as(OWNER).begin({ route: 'docs' })),
    repeated: [201],
    inTheEnd: always(1),
  },
  'a confirm': {
    prepare: (service) => putReport(service, 1),
    act: (service, object) => statusOf(service.as(OWNER).confirm(object)),
    repeated: [200],
    inTheEnd: always(1),
  },
  'a confirm of a replacement': {
    async prepare(service) {
      await uploadReport(service, 1)
      return putReport(service, 2)
    },
    act: (service, object) => statusOf(service.as(OWNER).confirm(object)),
    repeated: [200],
    inTheEnd: always(2),
  },
  'a confirm of what was not announced': {
    async prepare(service, { objects, tampered }) {
      await uploadReport(service, 1)
      const object = await putReport(service, 2)
      tampered.add((await objects.findPending(object))!.storageKey!)
      return object
    },
    act: (service, object) => statusOf(service.as(OWNER).confirm(object)),
    repeated: [409, 404],
    inTheEnd: always(1),
  },
  'an abort': {
    prepare: (service) => putReport(service, 1),
    act: (service, object) => statusOf(service.as(OWNER).abort(object)),
    repeated: [204, 404],
    // An upload that finished, and whose abort never happened, is not lost.
    inTheEnd: { repeated: [null], left: [null, 1] },
  },
  'an abort of a replacement': {
    async prepare(service) {
      await uploadReport(service, 1)
      return (await service.as(OWNER).begun({ route: 'docs' })).object
    },
    act: (service, object) => statusOf(service.as(OWNER).abort(object)),
    repeated: [204, 404],
    inTheEnd: always(1),
  },
  'a soft delete': {
    prepare: (service) => uploadReport(service, 1),
    act: (service, { key }) => statusOf(service.as(OWNER).delete(key)),
    repeated: [204, 404],
    inTheEnd: { repeated: [null], left: [null, 1] },
  },
  'a hard delete of an object and its replacement': {
    options: { deleteMode: 'hard' },
    async prepare(service) {
      await uploadReport(service, 1)
      return putReport(service, 2)
    },
    act: (service, { key }) => statusOf(service.as(OWNER).delete(key)),
    repeated: [204, 404],
    inTheEnd: { repeated: [null], left: [null, 2] },
  },
  'a cleanUp that confirms late': {
    async prepare(service, { clock }) {
      await uploadReport(service, 1)
      await service.as('user:2').begun({ route: 'others' })
      const object = await putReport(service, 2)
      clock.advance(LATER)
      return object
    },
    act: ({ s3 }) => cleanUp(s3).then(() => null),
    repeated: [null],
    inTheEnd: always(2),
  },
  'a cleanUp that discards': {
    async prepare(service, { clock, tampered, objects }) {
      await uploadReport(service, 1)
      const object = await putReport(service, 2)
      // So that no later run that confirms can find it in order.
      tampered.add((await objects.findPending(object))!.storageKey!)
      clock.advance(LATER)
      return object
    },
    act: ({ s3 }) => cleanUp(s3, { unconfirmed: 'discard' }).then(() => null),
    repeated: [null],
    inTheEnd: always(1),
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
    repeated: [null],
    inTheEnd: always(3),
  },
  'an upload that makes room in the quota': {
    options: { quota: { maxFiles: 3 } },
    async prepare(service, { clock }) {
      const object = await putReport(service, 1)
      await service.as(OWNER).begun({ route: 'others' })
      await service.as(OWNER).begun({ route: 'others' })
      clock.advance(LATER)
      return object
    },
    act: (service) => statusOf(service.as(OWNER).begin({ route: 'others' })),
    repeated: [201],
    inTheEnd: always(1),
  },
}

const flowsInParts: Record<string, Flow> = {
  'an upload in parts that begins': {
    prepare: (service) => uploadReport(service, 1),
    act: (service) => statusOf(multipart.begin(service.as(OWNER), { route: 'docs' })),
    repeated: [201],
    inTheEnd: always(1),
  },
  'an upload in parts that begins in the place of another': {
    async prepare(service) {
      await uploadReport(service, 1)
      return putReportInParts(service, 2)
    },
    act: (service) => statusOf(multipart.begin(service.as(OWNER), { route: 'docs' })),
    repeated: [201],
    inTheEnd: always(1),
  },
  'a complete': {
    prepare: (service) => putReportInParts(service, 1),
    act: (service, subject) => statusOf(multipart.complete(service.as(OWNER), partsOf(subject))),
    repeated: [200],
    // The job completes nothing by itself, and loses nothing that was completed.
    inTheEnd: { repeated: [1], left: [null, 1] },
  },
  'a complete of a replacement': {
    async prepare(service) {
      await uploadReport(service, 1)
      return putReportInParts(service, 2)
    },
    act: (service, subject) => statusOf(multipart.complete(service.as(OWNER), partsOf(subject))),
    repeated: [200],
    inTheEnd: { repeated: [2], left: [1, 2] },
  },
  'a complete of what was not announced': {
    async prepare(service, { objects, tampered }) {
      await uploadReport(service, 1)
      const subject = await putReportInParts(service, 2)
      tampered.add((await objects.findPending(subject))!.storageKey!)
      return subject
    },
    act: (service, subject) => statusOf(multipart.complete(service.as(OWNER), partsOf(subject))),
    repeated: [409, 404],
    inTheEnd: always(1),
  },
  'an abort of an upload in parts': {
    async prepare(service) {
      await uploadReport(service, 1)
      return putReportInParts(service, 2)
    },
    act: (service, subject) => statusOf(multipart.abort(service.as(OWNER), partsOf(subject))),
    repeated: [204, 404],
    inTheEnd: always(1),
  },
  'a delete of an object and its replacement in parts': {
    async prepare(service) {
      await uploadReport(service, 1)
      return putReportInParts(service, 2)
    },
    act: (service, { key }) => statusOf(service.as(OWNER).delete(key)),
    repeated: [204, 404],
    inTheEnd: { repeated: [null], left: [null, 1] },
  },
  'a cleanUp of parts that lapsed': {
    async prepare(service, { clock }) {
      await uploadReport(service, 1)
      const subject = await putReportInParts(service, 2)
      clock.advance(LATER)
      return subject
    },
    act: ({ s3 }) => cleanUp(s3).then(() => null),
    repeated: [null],
    inTheEnd: always(1),
  },
  'a cleanUp of parts that were given up': {
    async prepare(service, { clock, objects, bucket, bucketName }) {
      await uploadReport(service, 1)
      const subject = await putReportInParts(service, 2)
      const { key } = (await service.as(OWNER).begun({ route: 'docs' })).object
      const { storageKey } = (await objects.findPending({ bucket: bucketName, key }))!
      // As a process leaves it that stopped before it could record the id.
      const at = { bucket: bucketName, key: storageKey!, contentType: 'text/plain', attemptId: subject.id }
      await bucket.multipart!.create(at)
      await objects.release({ bucket: bucketName, key })
      clock.advance(LATER)
      return subject
    },
    act: ({ s3 }) => cleanUp(s3).then(() => null),
    repeated: [null],
    inTheEnd: always(1),
  },
  'a cleanUp that confirms late what was completed': {
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
    repeated: [null],
    inTheEnd: always(2),
  },
}

/** A world in which a process stopped before its call number `callsBefore + 1`, or came to its end. */
async function worldAfterCrash(
  { options = {}, prepare, act }: Flow,
  callsBefore: number,
  place?: WorldPlace,
) {
  const world = createWorld(options, place)
  const subject = await prepare(world.start(), world)
  const crash = new Crash(callsBefore)
  const end = await Promise.race([act(world.start(crash.connection), subject), crash.happened])
  return { world, subject, crashed: end === 'crashed', calls: crash.calls }
}

/**
 * Stops a process before each of its calls to the storage and the store, in every flow. `jobCrashes` is the number of
 * calls before which the job that follows stops in its turn; 0 leaves these many worlds to a storage in memory.
 */
export function describeCrashes(place?: WorldPlace, { jobCrashes = 16 } = {}): void {
  describe.each(Object.entries({ ...flows, ...flowsInParts }))(
    'a process that stops during %s',
    (_, flow) => {
      it('leaves nothing that the client and the job do not bring to its end', async () => {
        const { calls } = await worldAfterCrash(flow, Infinity, place)
        expect(calls).toBeGreaterThan(0)
        await upTo(calls, async (callsBefore) => {
          const { world, subject, crashed } = await worldAfterCrash(flow, callsBefore, place)
          expect(crashed).toBe(callsBefore < calls)
          // Whatever is active can be downloaded at every moment.
          await contentOf(world)
          expect(flow.repeated).toContain(await flow.act(world.start(), subject))
          await cleanUpUntilQuiet(world)
          expect(flow.inTheEnd.repeated).toContain(await contentOf(world))
          await expectTidy(world)
        })
      })

      it('leaves nothing that the job alone does not bring to its end', async () => {
        const { calls } = await worldAfterCrash(flow, Infinity, place)
        await upTo(calls, async (callsBefore) => {
          const { world } = await worldAfterCrash(flow, callsBefore, place)
          await contentOf(world)
          await cleanUpUntilQuiet(world)
          expect(flow.inTheEnd.left).toContain(await contentOf(world))
          await expectTidy(world)
        })
      })

      if (jobCrashes === 0) return
      it('leaves nothing that a job which stops as well does not bring to its end', async () => {
        const { calls } = await worldAfterCrash(flow, Infinity, place)
        await upTo(calls * jobCrashes - 1, async (at) => {
          const { world } = await worldAfterCrash(flow, Math.floor(at / jobCrashes), place)
          world.clock.advance(LATER)
          const crash = new Crash(at % jobCrashes)
          await Promise.race([cleanUp(world.start(crash.connection).s3), crash.happened])
          await contentOf(world)
          await cleanUpUntilQuiet(world)
          expect(flow.inTheEnd.left).toContain(await contentOf(world))
          await expectTidy(world)
        })
      })
    },
  )

  it('a confirm that the job was faster than is answered as if it had been first', async () => {
    const { prepare } = flows['a confirm of a replacement']!
    const world = createWorld({}, place)
    const object = await prepare(world.start(), world)
    await cleanUpUntilQuiet(world)
    expect(await statusOf(world.start().as(OWNER).confirm(object))).toBe(200)
  })
}

/** Runs for each of 0 to `last`, some side by side. */
async function upTo(last: number, run: (at: number) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next <= last) await run(next++)
  }
  await Promise.all(Array.from({ length: 4 }, worker))
}
