import { cleanUp, type ObjectStorage } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { HOUR, MINUTE } from '../../conformance/clock.js'
import * as inParts from './multipart/in-parts.js'
import { expectStatus, startService, type Service, type ServiceOptions } from './service.js'

/** The bucket calls of a job. */
type Calls = Readonly<Record<'head' | 'remove' | 'list' | 'listParts' | 'abort', number>>

const NONE: Calls = { head: 0, remove: 0, list: 0, listParts: 0, abort: 0 }

const OWNER = 'user:1'
const routes = { docs: { key: () => 'report', overwrite: true } }

/** A service whose bucket counts the calls that a job makes. */
function countedService(options: Omit<ServiceOptions, 'storage'> = {}) {
  const calls = { ...NONE }
  let isDown = false
  const storage = (memory: ObjectStorage): ObjectStorage => {
    const counted =
      <Input, Output>(name: keyof Calls, call: (input: Input) => Promise<Output>) =>
      async (input: Input): Promise<Output> => {
        calls[name]++
        if (isDown) throw new Error('connection refused')
        return call(input)
      }
    const { multipart } = memory
    return {
      ...memory,
      head: counted('head', (at) => memory.head(at)),
      remove: counted('remove', (at) => memory.remove(at)),
      multipart: {
        ...multipart!,
        list: counted('list', (at) => multipart!.list(at)),
        listParts: counted('listParts', (at) => multipart!.listParts(at)),
        abort: counted('abort', (at) => multipart!.abort(at)),
      },
    }
  }
  const service = startService({ routes, ...options, storage })
  return {
    ...service,
    /** Runs the job every five minutes for a time, and returns the calls that it made. */
    async callsDuring(duration: number): Promise<Calls> {
      Object.assign(calls, NONE)
      for (let elapsed = 0; elapsed <= duration; elapsed += 5 * MINUTE) {
        await cleanUp(service.s3)
        service.clock.advance(5 * MINUTE)
      }
      return { ...calls }
    },
    setDown(value: boolean) {
      isDown = value
    },
  }
}

const situations: Readonly<Record<string, (service: Service) => Promise<unknown>>> = {
  'an upload that was begun and aborted': async (service) => {
    const { object } = await service.as(OWNER).begun()
    await expectStatus(await service.as(OWNER).abort(object), 204)
  },
  'an upload in parts that ended with parts in the bucket': async (service) => {
    const parts = await inParts.begun(service.as(OWNER))
    await inParts.sendParts(service.as(OWNER), parts)
    await service.objects.release({ bucket: 'files', key: parts.object.key })
  },
  'an object that was deleted at once': async (service) => {
    await service.as(OWNER).upload()
    await expectStatus(await service.as(OWNER).delete('report'), 204)
  },
  'an object that was deleted a day later': async (service) => {
    await service.as(OWNER).upload()
    service.clock.advance(24 * HOUR)
    await expectStatus(await service.as(OWNER).delete('report'), 204)
  },
  'an object that was replaced': async (service) => {
    await service.as(OWNER).upload({}, 1)
    await service.as(OWNER).upload({}, 2)
  },
  'an object that was replaced a day later': async (service) => {
    await service.as(OWNER).upload({}, 1)
    service.clock.advance(24 * HOUR)
    await service.as(OWNER).upload({}, 2)
  },
}

const expected: Readonly<Record<string, Partial<Calls>>> = {
  'an upload that was begun and aborted': { head: 2, list: 2 },
  'an upload in parts that ended with parts in the bucket': { head: 2, list: 1, listParts: 3, abort: 1 },
  'an object that was deleted at once': { head: 2, list: 2 },
  'an object that was deleted a day later': { head: 1, list: 1 },
  'an object that was replaced': { head: 2, list: 2, remove: 1 },
  'an object that was replaced a day later': { head: 2, list: 2, remove: 1 },
}

describe('the bucket calls of cleanUp every five minutes, over 25 hours', () => {
  it.each(Object.keys(situations))('are few, and end with everything removed, for %s', async (name) => {
    const service = countedService()
    await situations[name]!(service)
    expect(await service.callsDuring(25 * HOUR)).toEqual({ ...NONE, ...expected[name] })
    expect(await service.objects.listLeftovers()).toEqual([])
    expect(await service.callsDuring(25 * HOUR)).toEqual(NONE)
    expect(service.reported).toEqual([])
  })

  it('are one an hour for a leftover in a bucket that fails, which is cleaned up once the bucket is back', async () => {
    const service = countedService()
    await situations['an object that was replaced']!(service)
    service.setDown(true)
    expect(await service.callsDuring(25 * HOUR)).toEqual({ ...NONE, list: 26 })
    service.setDown(false)
    expect(await service.callsDuring(2 * HOUR)).toEqual({ ...NONE, head: 2, list: 2, remove: 1 })
    expect(await service.objects.listLeftovers()).toEqual([])
  })

  it.each([900, 3600])(
    'include the list of unrecorded uploads again if it failed (download URLs of %i s)',
    async (expiresIn) => {
      const service = countedService({ download: { expiresIn } })
      const { object } = await service.as(OWNER).begun()
      const { storageKey } = (await service.objects.findPending(object))!
      const at = { bucket: 'files', key: storageKey! }
      await service.storage.multipart!.create({ ...at, contentType: 'text/plain', attemptId: object.id })
      await service.as(OWNER).abort(object)
      service.setDown(true)
      await cleanUp(service.s3)
      service.setDown(false)
      expect(await service.callsDuring(HOUR + 5 * MINUTE)).toEqual({ ...NONE, list: 1, abort: 1, head: 1 })
    },
  )

  it('are made once a day for an upload that a row uses', async () => {
    const service = countedService({ routes: { docs: {} } })
    const { object } = await service.as(OWNER).begun()
    const { key } = object
    await service.as(OWNER).abort(object)
    const row = { scope: OWNER, bucket: 'files', key, declaredSize: 3, storageKey: key }
    const uploadId = await service.storage.multipart!.create({
      bucket: 'files',
      key,
      contentType: 'a/b',
      attemptId: object.id,
    })
    await service.objects.reserve({ ...row, ...uploadId, expiresAt: service.clock.in(90 * HOUR) })
    expect(await service.callsDuring(25 * HOUR)).toEqual({ ...NONE, head: 1, list: 2 })
  })
})
