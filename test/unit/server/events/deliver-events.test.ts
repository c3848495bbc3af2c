import { getEventListeners } from 'node:events'
import { deliverEvents, type JobProgress, type StoredEvent } from '@svc/db'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { SECOND } from '../../../conformance/clock.js'
import { around } from '../service.js'
import { activate, at, deferred, nameOf, recordingStore, remaining, until } from './changed-objects.js'

describe('deliverEvents', () => {
  let { store, clock } = recordingStore()
  let errors: unknown[] = []
  beforeEach(() => {
    ;({ store, clock } = recordingStore())
    errors = []
  })
  afterEach(() => void vi.restoreAllMocks())

  const onError = (error: unknown, { operation }: { operation: string }) => {
    expect(operation).toBe('deliverEvents')
    errors.push(error)
  }
  const deliver = (onEvent: (event: StoredEvent) => unknown, options: object = {}) =>
    deliverEvents(store, { onEvent, onError, now: clock.now, ...options })

  it('delivers everything that is due, and what becomes due by that', async () => {
    for (const key of ['a', 'b', 'c']) await activate(store, key, clock)
    await store.remove({ ...at('a'), mode: 'hard' })
    await activate(store, 'a', clock)
    const seen: string[] = []
    expect(await deliver((event) => void seen.push(nameOf(event)))).toEqual({ delivered: 5, failed: [] })
    expect(seen.filter((name) => name.endsWith(' a'))).toEqual(['activated a', 'deleted a', 'activated a'])
    expect(await remaining(store)).toBe(0)
    expect(await deliver(() => {})).toEqual({ delivered: 0, failed: [] })
  })

  it('reports what a handler throws with its event', async () => {
    const id = await activate(store, 'a', clock)
    const failure = new Error('failed')
    const contexts: unknown[] = []
    const options = { onError: (error: unknown, context: object) => contexts.push({ error, ...context }) }
    await deliver(() => Promise.reject(failure), options)
    const object = expect.objectContaining({ ...at('a'), id }) as unknown
    const event = expect.objectContaining({ type: 'activated', object, attempts: 1 }) as unknown
    expect(contexts).toEqual([{ error: failure, operation: 'deliverEvents', event }])
  })

  it('delivers the next event of an object whose handler ends while it looks for more', async () => {
    await activate(store, 'a', clock)
    await activate(store, 'a', clock)
    const handler = deferred()
    let claims = 0
    around(store, 'claimEvents', (claim) => async (input) => {
      const events = await claim(input)
      // The second look finds nothing, and the handler ends before its response arrives.
      if (++claims === 2) {
        handler.resolve()
        await until(async () => (await store.countEvents()).claimed === 0)
      }
      return events
    })
    await activate(store, 'b', clock)
    const run = deliver(({ object }) => (object.key === 'a' ? handler.promise : undefined))
    expect(await run).toEqual({ delivered: 3, failed: [] })
  })

  it('claims only as many events as it can start at once', async () => {
    for (let i = 0; i < 5; i++) await activate(store, `key ${i}`, clock)
    const limits: unknown[] = []
    around(store, 'claimEvents', (claim) => (input) => {
      limits.push(input?.limit)
      return claim(input)
    })
    let running = 0
    let most = 0
    await deliver(
      async () => {
        most = Math.max(most, ++running)
        await new Promise((resolve) => setImmediate(resolve))
        running--
      },
      { concurrency: 2 },
    )
    expect(most).toBe(2)
    expect(limits.every((limit) => Number(limit) <= 2)).toBe(true)
  })

  it('settles in one call what ends at once, and a slow handler holds up no other', async () => {
    for (let i = 0; i < 8; i++) await activate(store, `key ${i}`, clock)
    const settled: number[] = []
    around(store, 'settleEvents', (settle) => (entries) => {
      if (entries.length > 0) settled.push(entries.length)
      return settle(entries)
    })
    const slow = deferred()
    const run = deliver(({ object }) => (object.key === 'key 3' ? slow.promise : undefined))
    await until(() => settled.length > 0)
    expect(settled).toEqual([7])
    slow.resolve()
    expect((await run).delivered).toBe(8)
    expect(settled).toEqual([7, 1])
  })

  it('retries a failed event later, and holds back only its object', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(1)
    await activate(store, 'a', clock)
    await activate(store, 'a', clock)
    await activate(store, 'b', clock)
    const failure = new Error('The thumbnail failed.')
    const fail = ({ object }: StoredEvent) => {
      if (object.key === 'a') throw failure
    }
    const failed = [{ ...at('a'), error: failure }]
    expect(await deliver(fail)).toEqual({ delivered: 1, failed })
    expect(errors).toEqual([failure])
    const waits: number[] = []
    for (let attempt = 2; attempt < 16; attempt++) {
      const [event] = (await store.listEvents({ limit: 1 })).items
      waits.push(event!.dueAt.getTime() - clock.time)
      clock.moveTo(new Date(event!.dueAt.getTime() - 1))
      expect(await deliver(fail)).toEqual({ delivered: 0, failed: [] })
      clock.advance(1)
      expect(await deliver(fail)).toEqual({ delivered: 0, failed })
    }
    const inSeconds = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3600, 3600]
    expect(waits).toEqual(inSeconds.map((seconds) => seconds * SECOND))
    clock.advance(3600 * SECOND)
    expect(await deliver(() => {})).toEqual({ delivered: 2, failed: [] })
  })

  it('waits at least half as long', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    await activate(store, 'a', clock)
    await deliver(() => Promise.reject(new Error('failed')))
    expect((await store.listEvents()).items[0]!.dueAt).toEqual(clock.in(SECOND / 2))
  })

  it('lists 1000 failures and reports all', async () => {
    for (let i = 0; i < 1005; i++) await activate(store, `key ${i}`, clock)
    const { delivered, failed } = await deliver(() => Promise.reject(new Error('failed')), {
      concurrency: 1000,
    })
    expect({ delivered, failed: failed.length }).toEqual({ delivered: 0, failed: 1000 })
    expect(errors).toHaveLength(1005)
  })

  it('reports progress, and an error of that listener', async () => {
    for (const key of ['a', 'b']) await activate(store, key, clock)
    const progress: JobProgress[] = []
    const fail = ({ object }: StoredEvent) => {
      if (object.key === 'b') throw new Error('failed')
    }
    const onProgress = (entry: JobProgress) => {
      progress.push(entry)
      throw new Error('broken listener')
    }
    expect(await deliver(fail, { onProgress })).toMatchObject({ delivered: 1 })
    expect(progress).toEqual([{ done: 1 }, { done: 2 }])
    expect(errors.map((error) => (error as Error).message).sort()).toEqual([
      'broken listener',
      'broken listener',
      'failed',
    ])
  })

  it('ends at the signal after what is in progress, whose own signal stays', async () => {
    for (const key of ['a', 'b']) await activate(store, key, clock)
    const stop = new AbortController()
    const handler = deferred()
    let signal: AbortSignal | undefined
    let isOver = false
    const onEvent = (_: StoredEvent, context: { signal: AbortSignal }) => {
      signal = context.signal
      return handler.promise
    }
    const options = { onEvent, now: clock.now, concurrency: 1, signal: stop.signal, pollSeconds: 60 }
    const run = deliverEvents(store, options).finally(() => (isOver = true))
    await until(() => signal !== undefined)
    stop.abort()
    await new Promise((resolve) => setImmediate(resolve))
    expect({ isOver, aborted: signal?.aborted }).toEqual({ isOver: false, aborted: false })
    handler.resolve()
    expect(await run).toEqual({ delivered: 1, failed: [] })
    expect(await remaining(store)).toBe(1)
    expect(getEventListeners(stop.signal, 'abort')).toEqual([])
  })

  it('does nothing if the signal has aborted already', async () => {
    await activate(store, 'a', clock)
    expect(await deliver(() => {}, { signal: AbortSignal.abort() })).toEqual({ delivered: 0, failed: [] })
    expect(await remaining(store)).toBe(1)
  })

  it('rejects if the store fails, after the running handlers are done', async () => {
    for (const key of ['a', 'b']) await activate(store, key, clock)
    const down = new Error('The database is down.')
    const slow = deferred()
    let isOver = false
    let isDone = false
    let claims = 0
    around(store, 'claimEvents', (claim) => (input) => {
      if (++claims > 1) throw down
      return claim(input)
    })
    const run = deliver(async ({ object }) => {
      if (object.key === 'b') await slow.promise
      if (object.key === 'b') isDone = true
    }).finally(() => (isOver = true))
    run.catch(() => {})
    await until(() => claims === 2)
    expect(isOver).toBe(false)
    slow.resolve()
    await expect(run).rejects.toBe(down)
    expect(isDone).toBe(true)
    expect(await remaining(store)).toBe(0)
  })

  it('rejects if events cannot be settled', async () => {
    await activate(store, 'a', clock)
    const down = new Error('The database is down.')
    around(store, 'settleEvents', (settle) => (entries) => {
      if (entries.length > 0) throw down
      return settle(entries)
    })
    await expect(deliver(() => {})).rejects.toBe(down)
    expect(await store.countEvents()).toMatchObject({ claimed: 1 })
  })
})
