import { checkStorage, cleanUp, eraseScope, type StorageDifference } from '@svc/db'
import fc from 'fast-check'
import { expect } from 'vitest'
import { HOUR } from '../../conformance/clock.js'
import { BUCKET, type Service } from './service.js'
import { createWorld, interceptCalls, LATER, OWNER } from './world.js'

/** Runs the job and returns its result and the differences. */
export async function check(
  service: Pick<Service, 's3'>,
  options: Partial<Parameters<typeof checkStorage>[1]> = {},
) {
  const differences: StorageDifference[] = []
  const onDifference = (difference: StorageDifference) => void differences.push(difference)
  const result = await checkStorage(service.s3, { onDifference, ...options })
  return { result, differences, found: differences.map(({ kind, storageKey }) => [kind, storageKey]) }
}

/** What may happen beside the job. Each is a whole operation, between two calls of the job. */
const TRAFFIC = {
  async 'an upload'(service: Service) {
    await service.as(OWNER).upload({ route: 'others' }, 1)
  },
  async 'a replacement'(service: Service) {
    await service.as(OWNER).upload({ route: 'docs' }, 2)
  },
  async 'the start of an upload'(service: Service) {
    const begun = await service.as(OWNER).begun({ route: 'others' })
    await service.as(OWNER).put(begun.upload, new Uint8Array(3))
  },
  async 'a soft delete of every object'(service: Service) {
    const { objects } = await service.objects.listByScope({ scope: OWNER, status: 'active' })
    for (const { key } of objects) await service.as(OWNER).delete(key)
  },
  async 'a transfer'(service: Service) {
    const { objects } = await service.objects.listByScope({ scope: OWNER, status: 'active', route: 'others' })
    if (objects[0]) await service.objects.transfer({ ...objects[0], from: OWNER, to: 'team' })
  },
  async 'an erasure'({ s3 }: Service) {
    await eraseScope(s3, { scope: OWNER })
  },
  async 'new bytes under a key of the application'(service: Service) {
    const at = { bucket: BUCKET, key: 'own' }
    const expiresAt = service.clock.in(HOUR)
    const { id } = await service.objects.reserve({ ...at, scope: 'application', declaredSize: 9, expiresAt })
    await service.storage.remove(at)
    const body = new Uint8Array(Number.parseInt(id.slice(-1), 16))
    await service.storage.write!({ ...at, body, contentType: 'text/plain', attemptId: id })
  },
  async 'a confirm of these bytes'(service: Service) {
    const at = { bucket: BUCKET, key: 'own' }
    const stored = await service.storage.head(at)
    const { size = 0, eTag } = stored ?? {}
    if (await service.objects.findPending(at)) await service.objects.confirm({ ...at, size, eTag })
  },
  async cleanUp(service: Service) {
    await cleanUp(service.s3)
  },
  async 'time and cleanUp'(service: Service) {
    service.clock.advance(LATER)
    await cleanUp(service.s3)
    service.clock.advance(LATER)
    await cleanUp(service.s3)
  },
  async nothing() {},
}

/** Runs arbitrary operations before the job and between its calls, and expects that it reports nothing. */
export async function checkBesideTraffic(numRuns: number): Promise<void> {
  const steps = fc.array(fc.constantFrom(...Object.values(TRAFFIC)), { minLength: 1, maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(steps, steps, async (before, between) => {
      // An upload of the application that expires leaves new bytes under its key, which nothing names.
      const { 'time and cleanUp': passing } = TRAFFIC
      const isLeftAlone = before.includes(passing) || between.includes(passing)
      const unexpected = async (service: Service) => {
        const { found } = await check(service, { olderThanSeconds: 0 })
        return isLeftAlone ? found.filter(([, storageKey]) => storageKey !== 'own') : found
      }
      const world = createWorld()
      const service = world.start()
      for (const step of before) await step(service)
      const queue = [...between]
      const connection = interceptCalls(async (call) => {
        await queue.shift()?.(service)
        return call()
      })
      expect(await unexpected(world.start(connection))).toEqual([])
      expect(await unexpected(service)).toEqual([])
    }),
    { numRuns },
  )
}
