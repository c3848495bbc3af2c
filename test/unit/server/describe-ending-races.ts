import fc from 'fast-check'
import { endUploads, type StorageObjectStore } from '@svc/db'
import { expect, it } from 'vitest'
import { ManualClock } from '../../conformance/clock.js'
import { begun, uploads, type Attempt } from './doors.js'
import { bytesOfSize, type Service } from './service.js'
import { cleanUpUntilDone, createWorld, expectConsistent, OWNER, type World } from './world.js'

/** An upload, as a browser or the server makes it, and which of its steps are over when `endUploads` begins. */
interface Plan {
  readonly way: 0 | 1 | 'files.put'
  /** `docs` has a key that all its uploads share. */
  readonly route: 'docs' | 'others'
  readonly stepsBefore: 0 | 1 | 2
}

const plan: fc.Arbitrary<Plan> = fc.record({
  way: fc.constantFrom<Plan['way']>(0, 1, 'files.put'),
  route: fc.constantFrom<Plan['route']>('docs', 'others'),
  stepsBefore: fc.constantFrom<Plan['stepsBefore']>(0, 1, 2),
})

/** Returns the steps of an upload. Those after one that failed do nothing. */
function stepsOf({ way, route }: Plan, service: Service): readonly (() => Promise<unknown>)[] {
  const caller = service.as(OWNER)
  if (way === 'files.put') {
    const file = { scope: OWNER, route, filename: 'a.txt', body: bytesOfSize(3, 3) }
    return [() => service.s3.files.put(file).catch(() => null)]
  }
  const upload = uploads[way]!
  let attempt: Attempt | null = null
  return [
    async () => (attempt = await begun(upload, caller, { route }).catch(() => null)),
    async () => attempt && upload.send(caller, attempt).catch(() => null),
    async () => {
      const status = attempt && (await upload.finish(caller, attempt)).status
      expect([null, 200, 404, 409]).toContain(status)
    },
  ]
}

/** Everything that is in the bucket is an object's, or a leftover names it. */
async function expectNamed({ objects, bucket, bucketName, storageKeys }: World): Promise<void> {
  const active = (await objects.listByScope({ scope: OWNER, status: 'active', fromPrimary: true })).objects
  const leftovers = await objects.listLeftovers()
  const named = new Set([...active, ...leftovers].map(({ storageKey }) => storageKey))
  for (const key of storageKeys) {
    const at = { bucket: bucketName, key }
    const isStored = (await bucket.head(at)) !== null || (await bucket.multipart!.list(at)).length > 0
    if (isStored) expect(named).toContain(key)
  }
}

/** Ends the uploads of an owner while others begin, arrive and are confirmed. */
export function describeEndingRaces(
  numRuns: number,
  createStore: (now: () => Date) => Promise<StorageObjectStore>,
): void {
  it('endUploads leaves nothing in progress, and nothing in the bucket that no row names', async () => {
    const property = fc.asyncProperty(fc.array(plan, { minLength: 1, maxLength: 6 }), async (plans) => {
      const clock = new ManualClock()
      const world = createWorld({}, undefined, clock, await createStore(clock.now))
      const rests = []
      for (const each of plans) {
        const steps = stepsOf(each, world.start())
        const isBegun = each.way !== 'files.put' && each.stepsBefore > 0
        for (const step of isBegun ? steps.slice(0, each.stepsBefore) : []) await step()
        rests.push({ isBegun, steps: isBegun ? steps.slice(each.stepsBefore) : steps })
      }
      const racing = rests.map(async ({ steps }) => {
        for (const step of steps) await step()
      })
      const [{ failed }] = await Promise.all([endUploads(world.start().s3, { scope: OWNER }), ...racing])
      expect(failed).toEqual([])
      const pending = () => world.objects.countByScope(OWNER, 'pending')
      // Others may have begun after it.
      if (rests.every(({ isBegun }) => isBegun)) expect(await pending()).toBe(0)
      await endUploads(world.start().s3, { scope: OWNER })
      expect(await pending()).toBe(0)
      await expectNamed(world)
      await cleanUpUntilDone(world)
      await expectConsistent(world)
    })
    await fc.assert(property, { numRuns })
  })
}
