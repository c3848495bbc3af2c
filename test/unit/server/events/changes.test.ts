import {
  cleanUp,
  createS3Server,
  db,
  deliverEvents,
  memoryStorage,
  type EventHandler,
  type StoredEvent,
} from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { partsOf } from '../../../../src/core/store/store-parts.js'
import { HOUR, SECOND } from '../../../conformance/clock.js'
import { uploaded } from '../multipart/in-parts.js'
import { around, BASE, beginAndPut, BUCKET, expectStatus, startService } from '../service.js'
import { activate, at, deferred, recordingStore, remaining, until } from './changed-objects.js'

const routes = { default: { overwrite: true, key: () => 'a' } }

describe('a server with onEvent', () => {
  let { store, clock } = recordingStore()
  let seen: string[] = []
  beforeEach(() => {
    ;({ store, clock } = recordingStore())
    seen = []
  })
  afterEach(() => void vi.useRealTimers())

  const start = (onEvent: EventHandler = ({ type }) => void seen.push(type), options: object = {}) =>
    startService({ objects: store, clock, routes, onEvent, ...options })
  const isDelivered = async () => (await remaining(store)) === 0

  it('delivers what requests, jobs, s3.db and s3.files change', async () => {
    const { as, s3 } = start()
    const ann = as('user:1')
    const request = ann.request('POST', '/import')
    const changes: Record<string, () => Promise<unknown>> = {
      'activated by a confirm': () => ann.upload(),
      'deleted by a request': () => ann.delete('a'),
      'activated by a completion': () => uploaded(ann),
      'deleted by s3.db': () => s3.db.remove(request, { key: 'a' }),
      async 'activated by s3.db'() {
        const { id } = await s3.db.reserve(request, { key: 'a', declaredSize: 1 })
        await s3.db.confirm(request, { key: 'a', id, size: 1 })
      },
      'deleted by s3.files': () => s3.files.delete({ key: 'a' }),
      'activated by s3.files': () => s3.files.put({ scope: 'user:1', filename: 'a.txt', body: 'hello' }),
      async 'activated by cleanUp'() {
        await beginAndPut(ann)
        clock.advance(48 * HOUR)
        await cleanUp(s3)
      },
    }
    for (const [change, act] of Object.entries(changes)) {
      await act()
      await until(isDelivered)
      expect([change, seen.splice(0)]).toEqual([change, [change.split(' ')[0]]])
    }
  })

  it('leaves direct calls of the store to the job', async () => {
    const claims = vi.fn()
    around(store, 'claimEvents', (claim) => (input) => {
      claims()
      return claim(input)
    })
    const { s3 } = start()
    await activate(s3.db.objects, 'a', clock)
    await new Promise((resolve) => setImmediate(resolve))
    expect(claims).not.toHaveBeenCalled()
    expect(await deliverEvents(s3)).toEqual({ delivered: 1, failed: [] })
  })

  it('claims nothing after what changes no active object', async () => {
    const claims = vi.fn()
    around(store, 'claimEvents', (claim) => (input) => {
      claims()
      return claim(input)
    })
    const ann = start().as('user:1')
    const { object } = await ann.begun()
    await expectStatus(await ann.delete(object.key), 204)
    await expectStatus(await ann.abort((await ann.begun()).object), 204)
    await new Promise((resolve) => setImmediate(resolve))
    expect(claims).not.toHaveBeenCalled()
  })

  it("delivers the object's older events first, and what it changes meanwhile", async () => {
    await activate(store, 'a', clock)
    clock.advance(SECOND)
    const first = deferred()
    const ann = start(async ({ type }) => {
      seen.push(type)
      if (seen.length === 1) await first.promise
    }).as('user:1')
    await ann.upload()
    await until(() => seen.length === 1)
    await expectStatus(await ann.delete('a'), 204)
    first.resolve()
    await until(isDelivered)
    expect(seen).toEqual(['activated', 'activated', 'deleted'])
  })

  it('looks again if the object changes while it looks for an event that another process has', async () => {
    const ann = start().as('user:1')
    let claims = 0
    const looked = deferred()
    const changed = deferred()
    around(store, 'claimEvents', (claim) => async (input) => {
      if (++claims > 1) return claim(input)
      looked.resolve()
      await changed.promise
      return []
    })
    await ann.upload()
    await looked.promise
    await expectStatus(await ann.delete('a'), 204)
    changed.resolve()
    await until(isDelivered)
    expect(seen).toEqual(['activated', 'deleted'])
  })

  it('runs 8 handlers at once, then those of the objects that waited', async () => {
    const handlers = deferred()
    let running = 0
    const ann = start(
      async ({ object }) => {
        running++
        await handlers.promise
        seen.push(object.key)
      },
      { routes: { default: {} } },
    ).as('user:1')
    for (let i = 0; i < 12; i++) await ann.upload()
    await until(() => running === 8)
    expect(await store.countEvents()).toMatchObject({ claimed: 8, waiting: 4 })
    handlers.resolve()
    await until(isDelivered)
    expect(new Set(seen).size).toBe(12)
  })

  it('lets owners take turns, however many objects one of them changes', async () => {
    const handlers: (() => void)[] = []
    let isOver = false
    const { as } = start(
      ({ object }) => {
        seen.push(object.scope)
        if (isOver) return
        return new Promise<void>((resolve) => handlers.push(resolve))
      },
      { routes: { default: {} } },
    )
    for (let i = 0; i < 120; i++) await as('user:1').upload()
    await as('user:2').upload()
    for (let ended = 0; ended < 2; ended++) {
      handlers[ended]!()
      await until(() => seen.length === 9 + ended)
    }
    expect(seen.slice(8)).toEqual(['user:1', 'user:2'])
    // Claims that stay open would be extended during tests of other files.
    isOver = true
    for (const end of handlers) end()
    await until(async () => (await store.countEvents()).claimed === 0)
  })

  it('leaves a failed event, and those after it, to the job', async () => {
    const failure = new Error('The handler failed.')
    const service = start(({ type }) => {
      if (seen.push(type) === 1) throw failure
    })
    await service.as('user:1').upload()
    await until(async () => (await store.countEvents()).retrying === 1)
    await expectStatus(await service.as('user:1').delete('a'), 204)
    await new Promise((resolve) => setImmediate(resolve))
    expect(await service.reportedBy('deliverEvents')).toEqual([failure])
    expect(await remaining(store)).toBe(2)
    clock.advance(SECOND)
    expect(await deliverEvents(service.s3)).toEqual({ delivered: 2, failed: [] })
    expect(seen).toEqual(['activated', 'activated', 'deleted'])
  })

  it('reports that the database is down, and responds nevertheless', async () => {
    const down = new Error('The database is down.')
    around(store, 'claimEvents', () => () => Promise.reject(down))
    const service = start()
    await service.as('user:1').upload()
    expect(await service.reportedBy('deliverEvents')).toEqual([down])
    expect(await isDelivered()).toBe(false)
  })

  it('reports once that events cannot be settled, and goes on with later changes', async () => {
    const down = new Error('The database is down.')
    let isDown = true
    around(store, 'settleEvents', (settle) => (entries) => (isDown ? Promise.reject(down) : settle(entries)))
    const service = start(undefined, { routes: { default: {} } })
    await service.as('user:1').upload()
    await until(() => service.reported.length > 0)
    isDown = false
    await service.as('user:1').upload()
    await until(() => seen.length === 2)
    expect(await service.reportedBy('deliverEvents')).toEqual([down])
    expect(await store.countEvents()).toEqual({ waiting: 0, claimed: 1, retrying: 0 })
  })

  it('extends the claim of a handler that hangs, without keeping the process alive', async () => {
    const created = vi.spyOn(globalThis, 'setTimeout')
    const handler = deferred()
    await start(() => handler.promise)
      .as('user:1')
      .upload()
    expect(await store.countEvents()).toMatchObject({ claimed: 1 })
    const timers = created.mock.results.map(({ value }) => value as NodeJS.Timeout)
    created.mockRestore()
    expect(timers.map((timer) => timer.hasRef())).toEqual([false, false])
    handler.resolve()
    await until(isDelivered)

    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const second = deferred()
    await start(() => second.promise)
      .as('user:1')
      .upload()
    // One extends the claim, and one reports a long run and then ends it.
    expect(vi.getTimerCount()).toBe(2)
    for (let i = 0; i < 200; i++) {
      clock.advance(SECOND)
      await vi.advanceTimersByTimeAsync(SECOND)
    }
    expect(await store.claimEvents(at('a'))).toEqual([])
    second.resolve()
    await until(isDelivered)
    expect(vi.getTimerCount()).toBe(0)
  })

  describe('on a database that records no events', () => {
    const MESSAGE =
      'onEvent is never called, because the database records no events. Turn them on with ' +
      '"svc-db migrate --events on", or with the option events of the adapter and migrate().'

    it('reports that once, after changes and in jobs', async () => {
      const silent = startService({ objects: memoryAdapter({ now: clock.now }), clock, onEvent: () => {} })
      expect(silent.reported).toEqual([])
      await silent.as('user:1').upload()
      await silent.as('user:1').upload()
      await deliverEvents(silent.s3)
      expect(await silent.reportedBy('deliverEvents')).toEqual([new Error(MESSAGE)])
    })

    it('asks the database only once whether it records events', async () => {
      const asked = vi.spyOn(partsOf(store)!.driver, 'recordsEvents')
      const { s3 } = start()
      for (let run = 0; run < 3; run++) await deliverEvents(s3)
      expect(asked).toHaveBeenCalledTimes(1)
    })

    it('says nothing if another process took the event, or if a wrapper hides the driver', async () => {
      const taken = start()
      around(store, 'claimEvents', () => async () => [])
      await taken.as('user:1').upload()
      const wrapper = { ...memoryAdapter({ now: clock.now }) }
      const silent = startService({ objects: wrapper, clock, onEvent: () => {} })
      await silent.as('user:1').upload()
      expect([...taken.reported, ...silent.reported]).toEqual([])
    })
  })

  it('reports to its own onError, whatever that of db() is', async () => {
    const reported: unknown[] = []
    const s3 = createS3Server({
      storage: memoryStorage({ now: clock.now }),
      bucket: BUCKET,
      plugins: [db({ client: store, resolveScope: () => 'user:1', onError: () => expect.unreachable() })],
      onEvent: (event: StoredEvent) => Promise.reject(new Error(event.type)),
      onError: (error, { operation, request }) => void reported.push([operation, request, error]),
      now: clock.now,
    })
    const request = new Request(BASE)
    const { id } = await s3.db.reserve(request, { key: 'a', declaredSize: 1 })
    await s3.db.confirm(request, { key: 'a', id, size: 1 })
    await until(() => reported.length > 0)
    expect(reported).toEqual([['deliverEvents', undefined, new Error('activated')]])
  })
})
