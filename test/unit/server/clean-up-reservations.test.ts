import { describe, expect, it } from 'vitest'
import { HOUR } from '../../conformance/clock.js'
import { cleanUpItems, around, beginAndPut, outcomesOf, startService } from './service.js'

/** Long enough for every reservation in these tests to expire. */
const LATER = 3 * HOUR
const overwriting = { docs: { key: () => 'report', overwrite: true } }

describe('cleanUp of expired reservations', () => {
  it('confirms finished uploads and releases the others', async () => {
    const activated: unknown[] = []
    const service = startService({ hooks: { onActivated: (event) => activated.push(event) } })
    const uploaded = await beginAndPut(service.as('user:1'))
    const empty = await service.as('user:1').begun()
    service.clock.advance(LATER)
    const fresh = await service.as('user:1').begun()

    const { reservations } = await cleanUpItems(service.s3)
    expect(reservations).toEqual([
      { bucket: 'files', key: uploaded.object.key, attemptId: uploaded.object.id, outcome: 'confirmed' },
      { bucket: 'files', key: empty.object.key, attemptId: empty.object.id, outcome: 'released' },
    ])
    const object = await service.objects.findActive(uploaded.object)
    expect(object).toMatchObject({ id: uploaded.object.id, size: 3, eTag: expect.any(String) as string })
    expect(activated).toEqual([{ object, replaced: null }])
    expect(await service.objects.find(empty.object)).toBeNull()
    expect(await service.objects.findPending(fresh.object)).not.toBeNull()
    expect((await service.as('user:1').confirm(uploaded.object)).status).toBe(200)
    expect((await service.as('user:1').confirm(empty.object)).status).toBe(404)
    expect(service.reported).toEqual([])
  })

  it('ignores reservations that have not expired', async () => {
    const service = startService()
    const { object } = await beginAndPut(service.as('user:1'))
    const { expiresAt } = (await service.objects.findPending(object))!
    service.clock.moveTo(new Date(expiresAt!.getTime() - 1))
    expect((await cleanUpItems(service.s3)).reservations).toEqual([])
    service.clock.advance(1)
    expect(outcomesOf((await cleanUpItems(service.s3)).reservations)).toEqual(['confirmed'])
  })

  it('releases all of them with unconfirmed: discard', async () => {
    const service = startService()
    const { object } = await beginAndPut(service.as('user:1'))
    service.clock.advance(LATER)
    const { reservations } = await cleanUpItems(service.s3, { unconfirmed: 'discard' })
    expect(outcomesOf(reservations)).toEqual(['released'])
    expect(await service.objects.find(object)).toBeNull()
  })

  it('leaves a reservation unchanged if the storage fails, and continues with the others', async () => {
    const broken = new Set<string>()
    const service = startService({
      storage: (memory) => ({
        ...memory,
        head: (at) => (broken.has(at.key) ? Promise.reject(new Error('NoSuchBucket')) : memory.head(at)),
      }),
    })
    const [first, second] = [await beginAndPut(service.as('user:1')), await beginAndPut(service.as('user:1'))]
    broken.add(first.object.key)
    service.clock.advance(LATER)
    const { reservations } = await cleanUpItems(service.s3)
    expect(reservations).toMatchObject([
      { key: first.object.key, outcome: 'failed', error: { code: 'STORAGE_UNAVAILABLE' } },
      { key: second.object.key, outcome: 'confirmed' },
    ])
    expect(await service.reportedBy('cleanUp')).toMatchObject([
      { code: 'STORAGE_UNAVAILABLE', cause: { message: 'NoSuchBucket' } },
    ])
    expect(await service.objects.findPending(first.object)).not.toBeNull()

    broken.clear()
    expect(outcomesOf((await cleanUpItems(service.s3)).reservations)).toEqual(['confirmed'])
  })

  it('reports gone for reservations that were settled concurrently', async () => {
    const meanwhile = new Map<string, () => Promise<unknown>>()
    const service = startService({
      storage: (memory) => ({
        ...memory,
        async head(at) {
          const found = await memory.head(at)
          await meanwhile.get(at.key)?.()
          return found
        },
      }),
    })
    const uploaded = (await beginAndPut(service.as('user:1'))).object
    const empty = (await service.as('user:1').begun()).object
    meanwhile.set(uploaded.key, () => service.objects.release(uploaded))
    meanwhile.set(empty.key, () => service.objects.release(empty))
    service.clock.advance(LATER)
    expect(outcomesOf((await cleanUpItems(service.s3)).reservations)).toEqual(['gone', 'gone'])
    expect(service.reported).toEqual([])
  })

  it('does not release a new attempt that has replaced the expired one', async () => {
    let meanwhile = async (): Promise<unknown> => undefined
    const service = startService({
      routes: overwriting,
      storage: (memory) => ({
        ...memory,
        async head(at) {
          const found = await memory.head(at)
          await meanwhile()
          return found
        },
      }),
    })
    await service.as('user:1').begun()
    service.clock.advance(LATER)
    meanwhile = () => service.as('user:1').begun()
    expect(outcomesOf((await cleanUpItems(service.s3)).reservations)).toEqual(['gone'])
    expect(await service.objects.countByScope('user:1', 'pending')).toBe(1)
  })

  it('reports an upload that cannot be confirmed, and leaves it unchanged', async () => {
    const service = startService()
    const { object } = await beginAndPut(service.as('user:1'))
    service.clock.advance(LATER)
    const broken = new Set(['the database'])
    around(service.objects, 'confirm', (confirm) => (input) => {
      return broken.size > 0 ? Promise.reject(new Error('socket closed')) : confirm(input)
    })
    const { reservations } = await cleanUpItems(service.s3)
    expect(reservations).toMatchObject([{ outcome: 'failed', error: { code: 'INTERNAL_ERROR' } }])
    expect(await service.reportedBy('cleanUp')).toEqual([new Error('socket closed')])
    broken.clear()
    expect((await service.as('user:1').confirm(object)).status).toBe(200)
  })
})
