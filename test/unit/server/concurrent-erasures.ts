import { eraseScope, transferScope } from '@svc/db'
import { expect, it } from 'vitest'
import { cleanUpItems, bytesOfSize, expectStatus, type Service } from './service.js'
import { forEverySchedule, forSomeSchedules, Interleaving } from './interleaving.js'
import * as multipart from './multipart/in-parts.js'
import {
  cleanUpUntilDone,
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

const OTHER = 'user:2'

const statusOf = async (response: Promise<Response>) => (await response).status

interface Pair {
  /** Creates what the scope has. */
  readonly prepare: (service: Service, world: World) => Promise<Subject>
  readonly expired?: true
  /** There are too many schedules to run all of them. */
  readonly isLong?: true
  /** Runs beside `eraseScope`. */
  readonly act: (service: Service, subject: Subject) => Promise<unknown>
  /** What it may return. Each must occur. */
  readonly ends: readonly unknown[]
  /** After this one, the other scope has an object. */
  readonly endWithObject?: unknown
}

const replacing = async (service: Service) => {
  await uploadReport(service, 1)
  return putReport(service, 2)
}

const pairs: Record<string, Pair> = {
  'a confirm of an upload': {
    prepare: (service) => putReport(service, 1),
    act: (service, object) => statusOf(service.as(OWNER).confirm(object)),
    ends: [200, 404, 409],
  },
  'a confirm of a replacement': {
    prepare: replacing,
    act: (service, object) => statusOf(service.as(OWNER).confirm(object)),
    ends: [200, 404, 409],
  },
  'a completion of a multipart upload': {
    prepare: (service) => putReportInParts(service, 1),
    act: (service, subject) => statusOf(multipart.complete(service.as(OWNER), partsOf(subject))),
    ends: [200, 404, 409],
  },
  'a soft delete': {
    prepare: (service) => uploadReport(service, 1),
    act: (service) => statusOf(service.as(OWNER).delete(KEY)),
    ends: [204, 404],
  },
  'a cleanUp that confirms an upload': {
    prepare: replacing,
    expired: true,
    isLong: true,
    act: ({ s3 }) => cleanUpItems(s3).then(({ reservations }) => reservations.map(({ outcome }) => outcome)),
    ends: [[], ['confirmed'], ['gone']],
  },
  'a cleanUp of a leftover': {
    async prepare(service) {
      const object = await putReport(service, 1)
      await expectStatus(await service.as(OWNER).abort(object), 204)
      return object
    },
    expired: true,
    act: ({ s3 }) => cleanUpItems(s3).then(({ leftovers }) => leftovers.map(({ outcome }) => outcome)),
    ends: [[], ['removed'], ['forgotten']],
  },
  'another eraseScope': {
    prepare: (service) => uploadReport(service, 1),
    isLong: true,
    act: ({ s3 }) => eraseScope(s3, { scope: OWNER }).then(({ objects, failed }) => [objects, failed]),
    ends: [
      [0, []],
      [1, []],
    ],
  },
  'a transfer to another scope': {
    prepare: replacing,
    act: ({ s3 }) => transferScope(s3, { from: OWNER, to: OTHER }),
    ends: [
      { transferred: 0, failed: [] },
      { transferred: 1, failed: [] },
    ],
    endWithObject: { transferred: 1, failed: [] },
  },
  'an upload of another scope to the same key': {
    prepare: (service) => uploadReport(service, 1),
    act: ({ s3 }) =>
      s3.files
        .put({ scope: OTHER, route: 'docs', key: KEY, contentType: 'text/plain', body: bytesOfSize(3, 3) })
        .then(
          () => 'stored',
          (error: { code: string }) => error.code,
        ),
    ends: ['stored', 'KEY_CONFLICT'],
    endWithObject: 'stored',
  },
}

/** By day, runs each pair in every second of the orders of its calls that change between the two once; by night, in all or very many. */
export function describeConcurrentErasures(isComplete: boolean): void {
  it.each(Object.entries(pairs))('eraseScope and %s can run at once', async (_, pair) => {
    const { prepare, expired, isLong, act, ends, endWithObject } = pair
    const reached = new Set<string>()
    const run = async (choose: () => 0 | 1) => {
      const world = createWorld()
      const subject = await prepare(world.start(), world)
      if (expired) world.clock.advance(LATER)
      const interleaving = new Interleaving()
      const [one, other] = interleaving.connections
      const [erased, end] = await interleaving.run(
        eraseScope(world.start(one).s3, { scope: OWNER }),
        act(world.start(other), subject),
        choose,
      )
      expect(erased.failed).toEqual([])
      expect(ends).toContainEqual(end)
      reached.add(JSON.stringify(end))

      // A concurrent delete may have left history.
      await eraseScope(world.start().s3, { scope: OWNER })
      for (const status of ['pending', 'active', 'deleted'] as const) {
        expect(await world.objects.countByScope(OWNER, status)).toBe(0)
      }
      // Only objects of the other scope are left, with their bytes.
      const { objects } = await world.objects.listByScope({ scope: OTHER })
      expect(objects).toHaveLength(JSON.stringify(end) === JSON.stringify(endWithObject) ? 1 : 0)
      for (const { key } of objects) expect(await world.start().as(OTHER).bytes(key)).toHaveLength(3)
      await cleanUpUntilDone(world)
      await expectConsistent(world)
    }
    if (!isComplete) return void (await forEverySchedule(run, { maxSwitches: 1, step: 4 }))
    await (isLong ? forSomeSchedules(3000, run) : forEverySchedule(run))
    expect([...reached].sort()).toEqual(ends.map((end) => JSON.stringify(end)).sort())
  })
}
