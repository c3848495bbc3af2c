import { transferScope, type S3ServerCore } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { describe, expect, it } from 'vitest'
import { HOUR, ManualClock } from '../../conformance/clock.js'
import { until } from './events/changed-objects.js'
import { Crash } from './crash.js'
import { around, beginAndPut, bytesOfSize, listFromEmptyReplica, startService } from './service.js'
import { createWorld, KEY, putReport, uploadReport } from './world.js'

const from = 'user:1'
const to = 'user:2'
const overwriting = { docs: { key: () => 'report', overwrite: true }, others: {} }
const OTHERS = { route: 'others' }

describe('transferScope', () => {
  it('gives every object to the new owner, and leaves uploads of new keys and history', async () => {
    const service = startService({ routes: overwriting })
    const caller = service.as(from)
    await caller.upload({ route: 'docs' }, 1)
    const { key } = await caller.upload(OTHERS, 2)
    await caller.delete((await caller.upload(OTHERS)).key)
    const replacement = await beginAndPut(caller, 3, { route: 'docs' })
    const begun = await beginAndPut(caller, 4, OTHERS)

    expect(await transferScope(service.s3, { from, to })).toEqual({ transferred: 2, failed: [] })
    expect(await service.as(to).bytes('report')).toEqual(bytesOfSize(3, 1))
    expect(await service.as(to).bytes(key)).toEqual(bytesOfSize(3, 2))
    expect((await caller.confirm(replacement.object)).status).toBe(404)
    expect((await caller.confirm(begun.object)).status).toBe(200)
    expect(await service.objects.countByScope(from, 'deleted')).toBe(1)
    expect(await service.objects.checkUsage()).toEqual([])

    // The upload that was confirmed afterwards.
    expect(await transferScope(service.s3, { from, to })).toEqual({ transferred: 1, failed: [] })
    expect(await transferScope(service.s3, { from, to })).toEqual({ transferred: 0, failed: [] })
  })

  it('transfers more objects than fit in a page, while they leave the list', async () => {
    const { objects, clock, s3 } = startService()
    for (let index = 0; index < 1001; index++) {
      const at = { bucket: 'files', key: `${index}` }
      await objects.reserve({ scope: from, ...at, declaredSize: 1, expiresAt: clock.in(HOUR) })
      await objects.confirm({ ...at, size: 1 })
    }
    const progress: number[] = []
    const onProgress = ({ done }: { done: number }) => void progress.push(done)
    expect(await transferScope(s3, { from, to, onProgress })).toEqual({ transferred: 1001, failed: [] })
    expect(await objects.countByScope(from)).toBe(0)
    expect(await objects.countByScope(to)).toBe(1001)
    expect(progress).toEqual(Array.from({ length: 1001 }, (_, index) => index + 1))
  })

  it('transfers objects that a replica does not list yet', async () => {
    const service = startService()
    const { key } = await service.as(from).upload()
    listFromEmptyReplica(service)
    const progress: unknown[] = []
    const onProgress = (each: unknown) => void progress.push(each)
    expect(await transferScope(service.s3, { from, to, onProgress })).toEqual({ transferred: 1, failed: [] })
    expect(await service.as(to).bytes(key)).toEqual(bytesOfSize(3))
    expect(progress).toEqual([{ done: 1, total: 1 }])
  })

  it('transfers a replacement that is confirmed after the list was read', async () => {
    const service = startService({ routes: overwriting })
    await service.as(from).upload({ route: 'docs' }, 1)
    around(service.objects, 'listByScope', (call) => async (input) => {
      const page = await call(input)
      await service.as(from).upload({ route: 'docs' }, 2)
      return page
    })
    expect(await transferScope(service.s3, { from, to })).toEqual({ transferred: 1, failed: [] })
    expect(await service.as(to).bytes('report')).toEqual(bytesOfSize(3, 2))
  })

  it('transfers the rest when it is repeated, wherever it was stopped', async () => {
    let crashed = true
    for (let callsBefore = 0; crashed; callsBefore++) {
      const { objects, start } = createWorld()
      for (let index = 0; index < 3; index++) await start().as(from).upload(OTHERS)
      await uploadReport(start(), 1)
      await putReport(start(), 2)
      const crash = new Crash(callsBefore)
      const run = transferScope(start(crash.connection).s3, { from, to })
      crashed = (await Promise.race([run, crash.happened])) === 'crashed'
      expect((await transferScope(start().s3, { from, to })).failed).toEqual([])
      expect(await objects.countByScope(from)).toBe(0)
      expect(await objects.countByScope(to, 'active')).toBe(4)
      expect(await start().as(to).bytes(KEY)).toEqual(bytesOfSize(3, 1))
      expect(await objects.checkUsage()).toEqual([])
      // A count, a list and four transfers.
      expect(crashed).toBe(callsBefore < 6)
    }
  })

  it('does not count objects that are deleted meanwhile', async () => {
    const service = startService()
    const { key } = await service.as(from).upload()
    around(service.objects, 'listByScope', (call) => async (input) => {
      const page = await call(input)
      await service.as(from).delete(key)
      return page
    })
    expect(await transferScope(service.s3, { from, to })).toEqual({ transferred: 0, failed: [] })
  })

  it('lists objects that exceed the quota as failed, and transfers those that fit', async () => {
    const service = startService()
    const kept = await service.as(from).upload({ size: 30 })
    await service.as(from).upload({ size: 5 })
    const { transferred, failed } = await transferScope(service.s3, { from, to, quota: { maxBytes: 10 } })
    expect(transferred).toBe(1)
    expect(failed).toMatchObject([{ bucket: 'files', key: kept.key, error: { code: 'QUOTA_EXCEEDED' } }])
    expect(await service.reportedBy('transferScope')).toEqual([failed[0]!.error])
    expect(await service.objects.getScopeUsage(from)).toMatchObject({ bytes: 30, files: 1 })
  })

  it('ignores the quota of db() and calls no hooks', async () => {
    const called: string[] = []
    const hook = (name: string) => () => void called.push(name)
    const service = startService({
      quota: { maxFiles: 1 },
      hooks: {
        onActivated: hook('onActivated'),
        onDeleted: hook('onDeleted'),
        onReserved: hook('onReserved'),
      },
    })
    await service.as(from).upload()
    await service.as(to).upload()
    called.length = 0
    expect(await transferScope(service.s3, { from, to })).toEqual({ transferred: 1, failed: [] })
    expect(called).toEqual([])
  })

  it('delivers the events that the store records', async () => {
    const clock = new ManualClock()
    const events: string[] = []
    const service = startService({
      clock,
      objects: memoryAdapter({ now: clock.now, events: true }),
      onEvent: ({ type, object, previous }) =>
        void events.push(`${type} from ${previous?.scope} to ${object.scope}`),
    })
    await service.as(from).upload()
    await transferScope(service.s3, { from, to })
    await until(() => events.length === 2)
    expect(events[1]).toBe(`transferred from ${from} to ${to}`)
  })

  it('completes what is in work when its signal aborts, and transfers the rest when it is repeated', async () => {
    const service = startService()
    for (let index = 0; index < 20; index++) await service.as(from).upload()
    const stop = new AbortController()
    const onProgress = () => stop.abort()
    expect(await transferScope(service.s3, { from, to, signal: stop.signal, onProgress })).toEqual({
      transferred: 8,
      failed: [],
    })
    expect(await transferScope(service.s3, { from, to })).toEqual({ transferred: 12, failed: [] })
  })

  it('refuses invalid options, before it transfers anything', async () => {
    const service = startService()
    await service.as(from).upload()
    const refused = (options: object) => transferScope(service.s3, { from, to, ...options }).catch(String)
    expect(await refused({ from: '' })).toContain('TypeError: transferScope: from must be a string')
    expect(await refused({ to: undefined })).toContain(
      'to must be a string of 1 to 255 characters (got undef',
    )
    expect(await refused({ quota: { maxBytes: -1 } })).toContain('quota.maxBytes must be an integer')
    expect(await refused({ to: from })).toContain('to must be another scope than from (got "user:1").')
    expect(await refused({ onProgress: 'x' })).toContain('onProgress must be a function (got "x").')
    await expect(transferScope({} as S3ServerCore, { from, to })).rejects.toThrow(
      new TypeError('transferScope: the first argument must be a server returned by createS3Server().'),
    )
    expect(await service.objects.countByScope(from)).toBe(1)
  })
})
