import { cleanUp, endUploads, StorageError } from '@svc/db'
import { expect, it } from 'vitest'
import { forEverySchedule, Interleaving, type Extent } from './interleaving.js'
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

/** Returns the number of uploads that it has ended. */
const end: Act = ({ s3 }) =>
  endUploads(s3, { scope: OWNER }).then(({ ended, failed }) => {
    expect(failed).toEqual([])
    return ended
  })

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
  /** Whether no upload is left in progress, whatever the order. */
  readonly endsAll?: true
  readonly options?: ServiceOptions
  readonly isExpired: boolean
  readonly acts: readonly [Act, Act]
  /** The possible results: the status of each call, and the final content. `-` is `null`. */
  readonly ends: readonly string[]
}

const pair = (of: Pair['of'], acts: Pair['acts'], ends: string): Pair => ({
  ...{ of, isExpired: false, acts, ends: ends.split(' | ') },
})

const ending = (...given: Parameters<typeof pair>): Pair => ({ ...pair(...given), endsAll: true })

/** A pair that begins when reservations have expired. */
const late = (...given: Parameters<typeof pair>): Pair => ({ ...pair(...given), isExpired: true })

const pairs: Record<string, Pair> = {
  'two confirms': pair('a replacement', [confirm, confirm], '200 200 2'),
  'a confirm and an abort': pair('a replacement', [confirm, abort], '200 404 2 | 404 204 1'),
  'a confirm and a delete': pair('a replacement', [confirm, remove], '200 204 - | 404 204 -'),
  'a confirm and a new attempt': pair('a replacement', [confirm, begin], '200 201 2 | 404 201 1'),
  'two deletes': pair('a replacement', [remove, remove], '204 404 - | 404 204 -'),
  'two confirms of bytes that do not match the request': pair(
    'a replacement that does not match its request',
    [confirm, confirm],
    '409 404 1 | 404 409 1 | 409 409 1',
  ),
  'a confirm and the job': late('a replacement', [confirm, job], '200 - 2'),
  'a confirm and a job that discards': late('a replacement', [confirm, discardingJob], '200 - 2 | 404 - 1'),
  'a confirm of bytes that do not match the request, and the job': late(
    'a replacement that does not match its request',
    [confirm, job],
    '409 - 1 | 404 - 1',
  ),
  'an abort and the job': late('a replacement', [abort, job], '204 - 1 | 404 - 2'),
  'a delete and the job': late('a replacement', [remove, job], '204 - -'),
  'a new attempt and the job': late('a replacement', [begin, job], '201 - 1 | 201 - 2'),
  'a claim of another scope and the job': late('an upload', [claim, job], '201 - - | 409 - 2'),
  'two jobs': late('a replacement', [job, job], '- - 2'),
  'a job that confirms and a job that discards': late('a replacement', [job, discardingJob], '- - 1 | - - 2'),
  'two completions': pair('a multipart replacement', [complete, complete], '200 200 2'),
  'a completion and an abort': pair(
    'a multipart replacement',
    [complete, abortParts],
    '200 404 2 | 404 204 1 | 409 204 1',
  ),
  'a completion and a delete': pair('a multipart replacement', [complete, remove], '200 204 - | 404 204 -'),
  'a completion and a new multipart attempt': pair(
    'a multipart replacement',
    [complete, beginInParts],
    '200 201 2 | 404 201 1',
  ),
  'a completion and the job': late('a multipart replacement', [complete, job], '200 - 2 | 404 - 1 | 409 - 1'),
  'a completion and a job that discards': late(
    'a multipart replacement',
    [complete, discardingJob],
    '200 - 2 | 404 - 1 | 409 - 1',
  ),
  'a completion and a claim of another scope': late(
    'a multipart upload',
    [complete, claim],
    '200 409 2 | 404 201 -',
  ),
  'two multipart aborts': pair('a multipart replacement', [abortParts, abortParts], '204 404 1 | 404 204 1'),
  'a multipart abort and the job': late('a multipart replacement', [abortParts, job], '204 - 1 | 404 - 1'),
  'a multipart abort and a new attempt': pair(
    'a multipart replacement',
    [abortParts, begin],
    '204 201 1 | 404 201 1',
  ),
  'a request for part URLs and an abort': pair(
    'a multipart replacement',
    [signParts, abortParts],
    '200 204 1 | 404 204 1',
  ),
  'two starts of a multipart upload': pair(
    'a multipart replacement',
    [beginInParts, beginInParts],
    '201 201 1 | 201 404 1 | 404 201 1',
  ),
  'a start of a multipart upload and a delete': pair(
    'a replacement',
    [beginInParts, remove],
    '201 204 - | 404 204 -',
  ),
  'a start of a multipart upload and the job': late(
    'a multipart replacement',
    [beginInParts, job],
    '201 - 1',
  ),
  'two jobs and a multipart upload': late('a multipart replacement', [job, job], '- - 1'),
  'a put and the confirm of an upload': pair('a replacement', [put, confirm], '- 200 3 | - 404 3'),
  'a put and a delete': pair('a replacement', [put, removeFile], '404 - - | - - 3 | - - -'),
  'two puts': pair('a replacement', [put, put], '404 - 3 | - 404 3 | - - 3'),
  'a put and the job': late('a replacement', [put, job], '- - 3'),
  'a confirm and endUploads': ending('a replacement', [confirm, end], '200 0 2 | 404 1 1'),
  'a completion and endUploads': ending(
    'a multipart replacement',
    [complete, end],
    '200 0 2 | 404 1 1 | 409 1 1',
  ),
  'a request for part URLs and endUploads': ending(
    'a multipart upload',
    [signParts, end],
    '200 1 - | 404 1 -',
  ),
  'an abort and endUploads': ending('a replacement', [abort, end], '204 0 1 | 404 1 1'),
  'a delete and endUploads': ending('a replacement', [remove, end], '204 0 - | 204 1 -'),
  'a start of an upload and endUploads': pair('an upload', [begin, end], '201 1 - | 201 2 -'),
  'a start of a multipart upload and endUploads': pair(
    'a multipart upload',
    [beginInParts, end],
    '201 1 - | 201 2 - | 404 1 - | 404 2 -',
  ),
  'a put and endUploads': ending('a replacement', [put, end], '- 0 3 | - 1 3 | 404 1 1 | 404 2 1'),
  'endUploads twice': ending('a multipart replacement', [end, end], '1 0 1 | 0 1 1'),
  'endUploads and the job': {
    ...late('a replacement', [end, job], '1 - 1 | 0 - 2'),
    endsAll: true,
  },
  'two starts of uploads that need the quota of expired ones': {
    ...late('two abandoned uploads', [beginOther, beginOther], '201 201 -'),
    options: { quota: { maxBytes: 10 } },
  },
}

/** Runs each pair in the orders of its calls, by default all of them. */
export function describeConcurrentPairs(extent: Extent = {}): void {
  it.each(Object.entries(pairs))('%s can run at once', async (_, given) => {
    const { of, options, isExpired, endsAll, acts, ends } = given
    const reached = new Set<string>()
    const schedules = await forEverySchedule(async (choose) => {
      const world = createWorld(options)
      const subject = await situations[of](world.start(), world)
      if (isExpired) world.clock.advance(LATER)
      const interleaving = new Interleaving()
      const [first, second] = interleaving.connections.map((connection, index) =>
        acts[index]!(world.start(connection), subject),
      )
      const responses = await interleaving.run(first!, second!, choose)
      if (endsAll) expect(await world.objects.countByScope(OWNER, 'pending')).toBe(0)
      await contentOf(world)
      await cleanUpUntilDone(world)
      const end = [...responses, await contentOf(world)].map((each) => each ?? '-').join(' ')
      expect(ends).toContain(end)
      reached.add(end)
      await expectConsistent(world)
    }, extent)
    expect(schedules).toBeGreaterThan(1)
    if (extent.maxSwitches !== undefined) return
    // Every listed result must occur in some order.
    expect([...reached].sort()).toEqual([...ends].sort())
  })
}
