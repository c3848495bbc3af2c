import { PAUSED, S3ClientError, type DbClientObject, type S3Api, type UploadOptions } from '@svc/db/client'
import { createUploadQueue } from '@svc/db/uploads'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { note, watch } from './queue-of-files.js'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const OBJECT: DbClientObject = {
  id: '1',
  key: 'a',
  bucket: 'files',
  status: 'active',
  createdAt: '2026-01-01',
}
const FRAME = 16

/** Creates a queue whose uploads do what the test says, because only so their progress has known times. */
function controlledQueue(isNew = true) {
  const calls: {
    readonly options: UploadOptions
    readonly send: (loaded: number) => void
    readonly resolve: () => void
    readonly reject: (error: unknown) => void
  }[] = []
  const api: Pick<S3Api, 'upload' | 'uploadRules'> = {
    uploadRules: () => Promise.resolve({ routes: {} }),
    upload: (file, options = {}) =>
      new Promise((resolve, reject) => {
        const send = (loaded: number) => options.onProgress!({ loaded, total: file.size })
        calls.push({ options, send, resolve: () => resolve(OBJECT), reject })
        options.signal!.addEventListener('abort', () => {
          const code = options.signal!.reason === PAUSED ? 'PAUSED' : 'ABORTED'
          reject(new S3ClientError(code, 'ended.'))
        })
        if (isNew) options.onState!('sending')
      }),
  }
  const { queue, ...watched } = watch(createUploadQueue(api))
  const add = async (...sizes: number[]) => {
    const ids = queue.add(sizes.map((size) => note('x'.repeat(size))))
    await vi.advanceTimersByTimeAsync(0)
    return ids
  }
  return { queue, ...watched, calls, add }
}

describe('a snapshot', () => {
  it('is the same until something changes, and never changes itself', async () => {
    const { queue, add, calls } = controlledQueue()
    const empty = queue.getSnapshot()
    expect(empty).toEqual({ items: [], size: 0, loaded: 0, secondsLeft: 0 })
    expect(queue.getSnapshot()).toBe(empty)
    await add(10, 20)
    const before = queue.getSnapshot()
    const [first, second] = before.items
    expect(queue.getSnapshot()).toBe(before)
    calls[0]!.send(4)
    const after = queue.getSnapshot()
    expect(after).not.toBe(before)
    expect([before.loaded, first!.loaded, after.items[0]!.loaded]).toEqual([0, 0, 4])
    // Components of files that have not changed need not render.
    expect(after.items[1]).toBe(second)
    expect(empty.items).toEqual([])
  })

  it('sums up all files but those that failed', async () => {
    const { queue, add, calls } = controlledQueue()
    await add(10, 20, 40)
    calls[0]!.send(10)
    calls[0]!.resolve()
    calls[1]!.send(5)
    calls[2]!.reject(new S3ClientError('FORBIDDEN', 'No.'))
    await vi.advanceTimersByTimeAsync(0)
    expect(queue.getSnapshot()).toMatchObject({ size: 30, loaded: 15 })
    expect(queue.getSnapshot().items.map(({ state }) => state)).toEqual(['done', 'uploading', 'failed'])
  })

  it('has the states and the object of each file', async () => {
    const { add, calls, of } = controlledQueue()
    const [id] = await add(10)
    const { options, resolve } = calls[0]!
    expect(of(id!)).toEqual({ id, filename: of(id!).filename, size: 10, loaded: 0, state: 'uploading' })
    for (const state of ['waiting', 'confirming'] as const) {
      options.onState!(state)
      expect(of(id!).state).toBe(state)
    }
    resolve()
    await vi.advanceTimersByTimeAsync(0)
    expect(of(id!)).toMatchObject({ state: 'done', loaded: 10, object: OBJECT })
  })
})

describe('secondsLeft', () => {
  it('is what the speed of the last seconds takes for the rest, and null where it is unknown', async () => {
    const { queue, add, calls } = controlledQueue()
    const left = () => queue.getSnapshot().secondsLeft
    await add(1000)
    expect(left()).toBeNull()
    for (let second = 0; second <= 4; second++) {
      calls[0]!.send(second * 50)
      await vi.advanceTimersByTimeAsync(1000)
    }
    // 800 bytes at 50 in a second.
    expect(left()).toBe(16)
    queue.pause()
    await vi.advanceTimersByTimeAsync(0)
    expect(left()).toBeNull()
    queue.resume()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(left()).toBeNull()
    calls[1]!.send(1000)
    calls[1]!.resolve()
    await vi.advanceTimersByTimeAsync(0)
    expect(left()).toBe(0)
  })

  it('does not count what a resumed upload compares', async () => {
    const { queue, add, calls } = controlledQueue(false)
    await add(1000)
    for (const loaded of [0, 400, 800]) {
      calls[0]!.send(loaded)
      await vi.advanceTimersByTimeAsync(1000)
    }
    expect(queue.getSnapshot()).toMatchObject({ loaded: 800, secondsLeft: null })
    calls[0]!.options.onState!('sending')
    for (const loaded of [850, 900]) {
      calls[0]!.send(loaded)
      await vi.advanceTimersByTimeAsync(1000)
    }
    expect(queue.getSnapshot()).toMatchObject({ loaded: 900, secondsLeft: 2 })
  })

  it('leaves out files that are paused', async () => {
    const { queue, add, calls } = controlledQueue()
    const [, second] = await add(1000, 5000)
    queue.pause(second)
    for (let second = 0; second <= 5; second++) {
      calls[0]!.send(second * 100)
      await vi.advanceTimersByTimeAsync(1000)
    }
    expect(queue.getSnapshot()).toMatchObject({ size: 6000, loaded: 500, secondsLeft: 5 })
  })
})

describe('listeners', () => {
  it('hear of changes at most once a frame', async () => {
    const { queue, add, calls } = controlledQueue()
    await add(100)
    await vi.advanceTimersByTimeAsync(FRAME)
    const heard = vi.fn()
    queue.subscribe(heard)
    for (let loaded = 1; loaded <= 50; loaded++) calls[0]!.send(loaded)
    await vi.advanceTimersByTimeAsync(FRAME - 1)
    expect(heard).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    expect(heard).toHaveBeenCalledTimes(1)
    await vi.advanceTimersByTimeAsync(1000)
    expect(heard).toHaveBeenCalledTimes(1)
    calls[0]!.send(60)
    await vi.advanceTimersByTimeAsync(FRAME)
    expect(heard).toHaveBeenCalledTimes(2)
  })

  it('end by themselves, also if the same function listens twice', async () => {
    const { queue, add } = controlledQueue()
    const heard = vi.fn()
    const stop = queue.subscribe(heard)
    const stopOther = queue.subscribe(heard)
    stop()
    await add(1)
    await vi.advanceTimersByTimeAsync(FRAME)
    expect(heard).toHaveBeenCalledTimes(1)
    stopOther()
    await add(1)
    await vi.advanceTimersByTimeAsync(FRAME)
    expect(heard).toHaveBeenCalledTimes(1)
  })

  it('that throw keep no other from hearing, and the page reports the error', async () => {
    const { queue, add } = controlledQueue()
    queue.subscribe(() => {
      throw new Error('No such row.')
    })
    const heard = vi.fn()
    queue.subscribe(heard)
    await add(1)
    vi.advanceTimersByTime(FRAME)
    expect(heard).toHaveBeenCalledTimes(1)
    expect(() => vi.advanceTimersByTime(1)).toThrow('No such row.')
  })
})
