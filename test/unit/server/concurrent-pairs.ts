import { cleanUp, StorageError } from '@svc/db'
import { expect, it } from 'vitest'
import { forEverySchedule, Interleaving } from './interleaving.js'
import * as multipart from './multipart/in-parts.js'
import { bytesOfSize, type Service, type ServiceOptions } from './service.js'
import {
  cleanUpUntilDone,
  contentOf,
  createWorld,
  expectConsistent,
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

/** The status of the response, or `null` if a job or another call of the server returned. */
type Status = number | null
type Act = (service: Service, subject: Subject) => Promise<Status>

const statusOf = async (response: Promise<Response>) => (await response).status
const confirm: Act = (service, object) => statusOf(service.as(OWNER).confirm(object))
const abort: Act = (service, object) => statusOf(service.as(OWNER).abort(object))
const remove: Act = (service, { key }) => statusOf(service.as(OWNER).delete(key))
const begin: Act = (service) => statusOf(service.as(OWNER).begin({ route: 'docs' }))
const claim: Act = (service) => statusOf(service.as('user:2').begin({ route: 'docs' }))
const complete: Act = (service, subject) => statusOf(multipart.complete(service.as(OWNER), partsOf(subject)))
const abortParts: Act = (service, subject) => statusOf(multipart.abort(service.as(OWNER), partsOf(subject)))
const signParts: Act = (service, subject) => statusOf(multipart.sign(service.as(OWNER), partsOf(subject)))
const beginInParts: Act = (service) => statusOf(multipart.begin(service.as(OWNER), { route: 'docs' }))
const job: Act = ({ s3 }) => cleanUp(s3).then(() => null)
const discardingJob: Act = ({ s3 }) => cleanUp(s3, { unconfirmed: 'discard' }).then(() => null)

const resultOf = (call: Promise<unknown>): Promise<Status> =>
  call.then(
    () => null,
    (error: unknown) => (error instanceof StorageError ? error.status : Promise.reject(error as Error)),
  )
const put: Act = ({ s3 }) =>
  resultOf(
    s3.files.put({
      scope: OWNER,
      route: 'docs',
      key: KEY,
      contentType: 'text/plain',
      body: bytesOfSize(3, 3),
    }),
  )
const removeFile: Act = ({ s3 }, { key }) => resultOf(s3.files.delete({ key }))
const beginOther: Act = (service) => statusOf(service.as(OWNER).begin({ route: 'others', size: 5 }))

/** The initial states. Content 1 is the object; content 2 is an upload that has not been confirmed. */
const situations = {
  'an upload': (service: Service) => putReport(service, 2),
  'a replacement': async (service: Service) => {
    await uploadReport(service, 1)
    return putReport(service, 2)
  },
  'a replacement that does not match its request': async (service: Service, { objects, tampered }: World) => {
    await uploadReport(service, 1)
    const object = await putReport(service, 2)
    tampered.add((await objects.findPending(object))!.storageKey!)
    return object
  },
  'a multipart upload': (service: Service) => putReportInParts(service, 2),
  'two abandoned uploads': async (service: Service) => {
    await service.as(OWNER).begun({ route: 'others', size: 5 })
    return (await service.as(OWNER).begun({ route: 'others', size: 5 })).object
  },
  'a multipart replacement': async (service: Service) => {
    await uploadReport(service, 1)
    return putReportInParts(service, 2)
  },
}

interface Pair {
  readonly of: keyof typeof situations
  readonly options?: ServiceOptions
  readonly expired?: true
  readonly acts: readonly [Act, Act]
  /** The possible results: the status of each call, and the final content. */
  readonly ends: readonly (readonly [Status, Status, Content])[]
}

const pairs: Record<string, Pair> = {
  'two confirms': { of: 'a replacement', acts: [confirm, confirm], ends: [[200, 200, 2]] },
  'a confirm and an abort': {
    of: 'a replacement',
    acts: [confirm, abort],
    ends: [
      [200, 404, 2],
      [404, 204, 1],
    ],
  },
  'a confirm and a delete': {
    of: 'a replacement',
    acts: [confirm, remove],
    ends: [
      [200, 204, null],
      [404, 204, null],
    ],
  },
  'a confirm and a new attempt': {
    of: 'a replacement',
    acts: [confirm, begin],
    ends: [
      [200, 201, 2],
      [404, 201, 1],
    ],
  },
  'two deletes': {
    of: 'a replacement',
    acts: [remove, remove],
    ends: [
      [204, 404, null],
      [404, 204, null],
    ],
  },
  'two confirms of bytes that do not match the request': {
    of: 'a replacement that does not match its request',
    acts: [confirm, confirm],
    ends: [
      [409, 404, 1],
      [404, 409, 1],
      [409, 409, 1],
    ],
  },
  'a confirm and the job': {
    of: 'a replacement',
    expired: true,
    acts: [confirm, job],
    ends: [[200, null, 2]],
  },
  'a confirm and a job that discards': {
    of: 'a replacement',
    expired: true,
    acts: [confirm, discardingJob],
    ends: [
      [200, null, 2],
      [404, null, 1],
    ],
  },
  'a confirm of bytes that do not match the request, and the job': {
    of: 'a replacement that does not match its request',
    expired: true,
    acts: [confirm, job],
    ends: [
      [409, null, 1],
      [404, null, 1],
    ],
  },
  'an abort and the job': {
    of: 'a replacement',
    expired: true,
    acts: [abort, job],
    ends: [
      [204, null, 1],
      [404, null, 2],
    ],
  },
  'a delete and the job': {
    of: 'a replacement',
    expired: true,
    acts: [remove, job],
    ends: [[204, null, null]],
  },
  'a new attempt and the job': {
    of: 'a replacement',
    expired: true,
    acts: [begin, job],
    ends: [
      [201, null, 1],
      [201, null, 2],
    ],
  },
  'a claim of another scope and the job': {
    of: 'an upload',
    expired: true,
    acts: [claim, job],
    ends: [
      [201, null, null],
      [409, null, 2],
    ],
  },
  'two jobs': { of: 'a replacement', expired: true, acts: [job, job], ends: [[null, null, 2]] },
  'a job that confirms and a job that discards': {
    of: 'a replacement',
    expired: true,
    acts: [job, discardingJob],
    ends: [
      [null, null, 1],
      [null, null, 2],
    ],
  },
}

const multipartPairs: Record<string, Pair> = {
  'two completions': { of: 'a multipart replacement', acts: [complete, complete], ends: [[200, 200, 2]] },
  'a completion and an abort': {
    of: 'a multipart replacement',
    acts: [complete, abortParts],
    ends: [
      [200, 404, 2],
      [404, 204, 1],
      [409, 204, 1],
    ],
  },
  'a completion and a delete': {
    of: 'a multipart replacement',
    acts: [complete, remove],
    ends: [
      [200, 204, null],
      [404, 204, null],
    ],
  },
  'a completion and a new multipart attempt': {
    of: 'a multipart replacement',
    acts: [complete, beginInParts],
    ends: [
      [200, 201, 2],
      [404, 201, 1],
    ],
  },
  'a completion and the job': {
    of: 'a multipart replacement',
    expired: true,
    acts: [complete, job],
    ends: [
      [200, null, 2],
      [404, null, 1],
      [409, null, 1],
    ],
  },
  'a completion and a job that discards': {
    of: 'a multipart replacement',
    expired: true,
    acts: [complete, discardingJob],
    ends: [
      [200, null, 2],
      [404, null, 1],
      [409, null, 1],
    ],
  },
  'a completion and a claim of another scope': {
    of: 'a multipart upload',
    expired: true,
    acts: [complete, claim],
    ends: [
      [200, 409, 2],
      [404, 201, null],
    ],
  },
  'two multipart aborts': {
    of: 'a multipart replacement',
    acts: [abortParts, abortParts],
    ends: [
      [204, 404, 1],
      [404, 204, 1],
    ],
  },
  'a multipart abort and the job': {
    of: 'a multipart replacement',
    expired: true,
    acts: [abortParts, job],
    ends: [
      [204, null, 1],
      [404, null, 1],
    ],
  },
  'a multipart abort and a new attempt': {
    of: 'a multipart replacement',
    acts: [abortParts, begin],
    ends: [
      [204, 201, 1],
      [404, 201, 1],
    ],
  },
  'a request for part URLs and an abort': {
    of: 'a multipart replacement',
    acts: [signParts, abortParts],
    ends: [
      [200, 204, 1],
      [404, 204, 1],
    ],
  },
  'two starts of a multipart upload': {
    of: 'a multipart replacement',
    acts: [beginInParts, beginInParts],
    ends: [
      [201, 201, 1],
      [201, 404, 1],
      [404, 201, 1],
    ],
  },
  'a start of a multipart upload and a delete': {
    of: 'a replacement',
    acts: [beginInParts, remove],
    ends: [
      [201, 204, null],
      [404, 204, null],
    ],
  },
  'a start of a multipart upload and the job': {
    of: 'a multipart replacement',
    expired: true,
    acts: [beginInParts, job],
    ends: [[201, null, 1]],
  },
  'two jobs and a multipart upload': {
    of: 'a multipart replacement',
    expired: true,
    acts: [job, job],
    ends: [[null, null, 1]],
  },
}

const filePairs: Record<string, Pair> = {
  'a put and the confirm of an upload': {
    of: 'a replacement',
    acts: [put, confirm],
    ends: [
      [null, 200, 3],
      [null, 404, 3],
    ],
  },
  'a put and a delete': {
    of: 'a replacement',
    acts: [put, removeFile],
    ends: [
      [404, null, null],
      [null, null, 3],
      [null, null, null],
    ],
  },
  'two puts': {
    of: 'a replacement',
    acts: [put, put],
    ends: [
      [404, null, 3],
      [null, 404, 3],
      [null, null, 3],
    ],
  },
  'a put and the job': { of: 'a replacement', acts: [put, job], expired: true, ends: [[null, null, 3]] },
  'two starts of uploads that need the quota of expired ones': {
    of: 'two abandoned uploads',
    options: { quota: { maxBytes: 10 } },
    acts: [beginOther, beginOther],
    expired: true,
    ends: [[201, 201, null]],
  },
}

/** Runs each pair in the orders of its calls that change between the two at most this often. */
export function describeConcurrentPairs(maxSwitches: number): void {
  const all = Object.entries({ ...pairs, ...multipartPairs, ...filePairs })
  it.each(all)('%s can run at once', async (_, { of, options, expired, acts, ends }) => {
    const reached = new Set<string>()
    const schedules = await forEverySchedule(async (choose) => {
      const world = createWorld(options)
      const subject = await situations[of](world.start(), world)
      if (expired) world.clock.advance(LATER)
      const interleaving = new Interleaving()
      const [first, second] = interleaving.connections.map((connection, index) =>
        acts[index]!(world.start(connection), subject),
      )
      const responses = await interleaving.run(first!, second!, choose)
      await contentOf(world)
      await cleanUpUntilDone(world)
      const end = [...responses, await contentOf(world)]
      expect(ends).toContainEqual(end)
      reached.add(JSON.stringify(end))
      await expectConsistent(world)
    }, maxSwitches)
    expect(schedules).toBeGreaterThan(1)
    if (maxSwitches < Infinity) return
    // Every listed result must occur in some order.
    expect([...reached].sort()).toEqual(ends.map((end) => JSON.stringify(end)).sort())
  })
}
