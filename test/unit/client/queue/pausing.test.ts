import type { UploadQueueOptions } from '@svc/db/uploads'
import { describe, expect, it } from 'vitest'
import { until } from '../../../until.js'
import { large, refusal, silent } from '../faulty-server.js'
import { NOTHING_USED } from '../server.js'
import { useFakePauses, withoutPauses } from '../upload-in-parts/fake-pauses.js'
import { createGate, note, notes, startQueue } from './queue-of-files.js'
import { DEFAULT_PART_SIZE } from '../../../../src/server/attempts/sizes.js'

useFakePauses()

const PART = DEFAULT_PART_SIZE

describe('a paused queue', () => {
  it('stops what is sent, holds back what waits and what is added, and goes on', async () => {
    const gate = createGate()
    const { queue, states, isIdle, usage, count } = startQueue({ PUT: gate.pass })
    queue.add(notes(5))
    await until(() => gate.count() === 3)
    queue.pause()
    queue.add(note())
    expect(states()).toEqual(Array(6).fill('paused'))
    await expect.poll(usage).toEqual(NOTHING_USED)
    expect(count('POST /upload')).toBe(3)
    gate.open()
    queue.resume()
    await until(isIdle)
    expect(states()).toEqual(Array(6).fill('done'))
    expect(await usage()).toMatchObject({ files: 6, reservedFiles: 0 })
  })

  it('goes on with a single file, and holds the others back', async () => {
    const { queue, of, states, items } = startQueue()
    queue.pause()
    const [, second] = queue.add(notes(3))
    queue.resume(second)
    await until(() => of(second!).state === 'done')
    expect(states()).toEqual(['paused', 'done', 'paused'])
    queue.cancel(items()[0]!.id)
    queue.retry()
    expect(states()[0]).toBe('paused')
  })

  it('goes on if it is resumed before the calls have ended', async () => {
    const gate = createGate()
    const { queue, isIdle, usage } = startQueue({ PUT: gate.pass })
    queue.add(notes(4))
    await until(() => gate.count() === 3)
    queue.pause()
    queue.resume()
    gate.open()
    await until(isIdle)
    expect(await usage()).toMatchObject({ files: 4, reservedFiles: 0 })
  })
})

describe('a paused file', () => {
  it('gives its place to the next', async () => {
    const gate = createGate()
    const { queue, states } = startQueue({ PUT: gate.pass })
    const [first] = queue.add(notes(4))
    await until(() => gate.count() === 3)
    queue.pause(first)
    await until(() => states().join() === 'paused,uploading,uploading,uploading')
  })

  it('in one PUT begins again at 0', async () => {
    const gate = createGate()
    const { queue, of, isIdle, count } = startQueue({ PUT: gate.pass })
    const [id] = queue.add(note())
    await until(() => gate.count() === 1)
    queue.pause(id)
    expect(of(id!)).toMatchObject({ state: 'paused', loaded: 0 })
    gate.open()
    queue.resume(id)
    await until(isIdle)
    expect([of(id!).state, count('POST /upload')]).toEqual(['done', 2])
  })

  /** Pauses a file of three parts once the first has arrived. `seen` has what the snapshots said at each step from then on. */
  async function pausedInParts(options: UploadQueueOptions = {}) {
    let isHeld = true
    // What is held never arrives: a request that is aborted would meet the same part of the next call.
    const put = (serve: () => Promise<Response>, call: number) => (call === 1 || !isHeld ? serve() : silent())
    const queued = startQueue({ PUT: put }, options)
    const seen: number[] = []
    const look = () => void seen.push(queued.items()[0]!.loaded)
    const [id = ''] = queued.queue.add(large(), { onProgress: look, onState: look })
    await until(() => queued.of(id).loaded > 0)
    const arrived = queued.of(id).loaded
    queued.queue.pause(id)
    await expect.poll(async () => (await queued.api.unfinishedUploads()).length).toBe(1)
    isHeld = false
    seen.length = 0
    return { ...queued, id, arrived, seen, hold: () => (isHeld = true) }
  }

  it('in parts keeps what has arrived, and sends the rest', async () => {
    const { queue, of, id, arrived, seen, isIdle, count } = await pausedInParts()
    expect(of(id)).toMatchObject({ state: 'paused', loaded: arrived })
    queue.resume(id)
    await until(isIdle)
    expect(of(id)).toMatchObject({ state: 'done', loaded: 2 * PART + 3 })
    expect(Math.min(...seen)).toBe(arrived)
    expect(count('POST /multipart')).toBe(1)
  })

  it.each(['cancel', 'remove'] as const)('in parts is ended at the server by %s', async (call) => {
    const { queue, id, usage, states, count, api } = await pausedInParts()
    queue[call](id)
    expect(states()).toEqual(call === 'cancel' ? ['failed'] : [])
    await expect.poll(usage).toEqual(NOTHING_USED)
    expect(await api.unfinishedUploads()).toEqual([])
    expect(count('POST /multipart/abort')).toBe(1)
  })

  it('in parts is ended at the server if it is cancelled while it waits to go on', async () => {
    const { queue, id, of, states, count, hold } = await pausedInParts({ concurrency: 1 })
    hold()
    queue.add(note())
    await until(() => states()[1] === 'uploading')
    queue.resume(id)
    expect(of(id).state).toBe('queued')
    queue.cancel(id)
    await expect.poll(() => count('POST /multipart/abort')).toBe(1)
  })

  it('that has not begun leaves an upload of an earlier visit alone when it is cancelled', async () => {
    const { queue, usage, api } = await pausedInParts()
    queue.pause()
    const [again] = queue.add(large())
    queue.cancel(again)
    expect(await usage()).toMatchObject({ reservedFiles: 1 })
    expect(await api.unfinishedUploads()).toHaveLength(1)
  })
})

describe('while the server verifies a file', () => {
  it('a pause comes too late', async () => {
    const gate = createGate()
    const { queue, of, isIdle } = startQueue({ 'POST /upload/confirm': gate.pass })
    const [id] = queue.add(note())
    await until(() => of(id!).state === 'confirming')
    queue.pause()
    expect(of(id!).state).toBe('confirming')
    gate.open()
    await until(isIdle)
    expect(of(id!)).toMatchObject({ state: 'done', object: { status: 'active' } })
  })

  it.each([
    ['takes effect if parts have to be sent again', 'paused', false],
    ['that is taken back changes nothing', 'done', true],
  ])('a pause %s', async (_, state, isTakenBack) => {
    const gate = createGate()
    const { queue, of, usage } = startQueue({
      'POST /multipart/complete': (serve, call) =>
        call === 1 ? gate.pass(() => refusal(409, 'UPLOAD_MISMATCH')) : serve(),
    })
    const [id = ''] = queue.add(large())
    await until(() => gate.count() === 1)
    queue.pause()
    if (isTakenBack) queue.resume()
    gate.open()
    await withoutPauses(until(() => of(id).state === state))
    expect(await usage()).toMatchObject({ files: isTakenBack ? 1 : 0, reservedFiles: isTakenBack ? 0 : 1 })
    queue.resume()
    await until(() => of(id).state === 'done')
  })

  it('a pause that came too late for a file that failed does not pause its retry', async () => {
    const gate = createGate()
    const { queue, of } = startQueue({
      'POST /upload/confirm': (serve, call) =>
        call === 1 ? gate.pass(() => refusal(403, 'FORBIDDEN')) : serve(),
    })
    const [id = ''] = queue.add(note())
    await until(() => gate.count() === 1)
    queue.pause(id)
    gate.open()
    await until(() => of(id).state === 'failed')
    queue.retry(id)
    await until(() => of(id).state === 'done')
  })

  it('the outcome of a cancel is what the server has done', async () => {
    const gate = createGate()
    const { queue, of, isIdle, usage } = startQueue({
      'POST /upload/confirm': async (serve) => {
        const response = await serve()
        return gate.pass(() => Promise.resolve(response))
      },
    })
    const [id] = queue.add(note())
    await until(() => gate.count() === 1)
    queue.cancel()
    expect(of(id!).state).toBe('confirming')
    gate.open()
    await until(isIdle)
    expect(of(id!).state).toBe('done')
    expect(await usage()).toMatchObject({ files: 1, reservedFiles: 0 })
  })
})
