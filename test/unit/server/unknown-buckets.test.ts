import { cleanUp, eraseScope } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { HOUR } from '../../conformance/clock.js'
import { beginAndPut, startService } from './service.js'

const scope = 'user:1'

/** Two servers on one schema, whose storages have a bucket each. `own` is the bucket of the second one, which runs the jobs. */
function twoServers(options: { readonly buckets?: readonly string[] } = {}) {
  const first = startService()
  const { clock, objects } = first
  const second = startService({ clock, objects, bucket: 'own', ...options, quota: { maxFiles: 1 } })
  return { first, second, clock }
}

const unknown = expect.objectContaining({
  code: 'VALIDATION_ERROR',
  message: 'buckets must include "files" if the storage of this server has its files.',
}) as Error

describe('a bucket that a server does not know', () => {
  it('keeps its finished uploads and its leftovers in cleanUp, which reports it once a run', async () => {
    const { first, second, clock } = twoServers()
    const { object } = await beginAndPut(first.as(scope))
    await beginAndPut(first.as(scope))
    await first.as(scope).delete((await first.as(scope).upload()).key)
    clock.advance(3 * HOUR)
    const { reservations, leftovers } = await cleanUp(second.s3)
    expect(Object.values(reservations)).toEqual([0, 0, 0, 0])
    expect(Object.values(leftovers)).toEqual([0, 0, 0, 0, 0])
    expect(await second.reportedBy('cleanUp')).toEqual([unknown])
    expect(await cleanUp(first.s3)).toMatchObject({
      reservations: { confirmed: 2 },
      leftovers: { forgotten: 1 },
    })
    expect(await first.objects.findActive({ bucket: 'files', key: object.key })).not.toBeNull()
  })

  it('keeps its finished uploads while a request makes room for another one', async () => {
    const { first, second, clock } = twoServers()
    const { object } = await beginAndPut(first.as(scope))
    clock.advance(3 * HOUR)
    await expect(second.as(scope).upload()).rejects.toThrow(/quota/)
    expect(await first.objects.findPending({ bucket: 'files', key: object.key })).not.toBeNull()
  })

  it('keeps its objects past their end while a request makes room for another one', async () => {
    const { first, second, clock } = twoServers()
    const { key } = await first.s3.files.put({ scope, body: 'abc', filename: 'a', temporarySeconds: 1 })
    clock.advance(HOUR)
    await expect(second.as(scope).upload()).rejects.toThrow(/quota/)
    expect(await first.objects.findActive({ bucket: 'files', key })).not.toBeNull()
  })

  it('keeps the objects of an erased scope, which are failures', async () => {
    const { first, second } = twoServers()
    await first.as(scope).upload()
    await first.as(scope).begun()
    expect(await eraseScope(second.s3, { scope })).toMatchObject({
      ...{ objects: 0, reservations: 0 },
      failed: [{ bucket: 'files', error: unknown }, { error: unknown }],
    })
    expect(await eraseScope(first.s3, { scope })).toMatchObject({ objects: 1, reservations: 1, failed: [] })
  })

  it('is known if buckets names it', async () => {
    const { first, second } = twoServers({ buckets: ['files'] })
    await first.as(scope).upload()
    expect(await eraseScope(second.s3, { scope })).toMatchObject({ objects: 1, failed: [] })
  })
})
