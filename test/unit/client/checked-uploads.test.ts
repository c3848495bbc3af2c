import { describe, expect, it } from 'vitest'
import { timeUntilSettled } from './fake-time.js'
import { large, lost, small, start, timed } from './faulty-server.js'
import { startQueue } from './queue/queue-of-files.js'
import { rejectionOf } from './rejection.js'
import { useFakePauses } from './upload-in-parts/fake-pauses.js'

useFakePauses()

const routes = { default: { check: true } }
const KINDS = [
  { kind: 'in one PUT', file: small, finish: 'POST /upload/confirm' },
  { kind: 'in parts', file: large, finish: 'POST /multipart/complete' },
]

describe.each(KINDS)('a checked upload $kind', ({ file, finish }) => {
  it('resolves with checking, keeps nothing, and has no unfinished upload', async () => {
    const { api, usage, log } = start({}, { routes })
    const { result } = await timed(api.upload(file()))
    expect(result).toMatchObject({ status: 'pending', checking: true, size: file().size })
    expect(await api.unfinishedUploads()).toEqual([])
    log.length = 0
    expect(await api.settleUploads()).toEqual({ confirmed: 0, ended: 0, kept: 0 })
    expect(log).toEqual([])
    expect(await usage()).toMatchObject({ reservedBytes: file().size, files: 0 })
  })

  it('rejects with the reason if it was rejected meanwhile, once and for all', async () => {
    const client = start(
      {
        // The response to the first one is lost, and the scanner is faster than the next one.
        [finish]: (serve, call) => (call === 1 ? serve().then(reject) : undefined),
      },
      { routes },
    )
    const { api, objects, server, count, log } = client
    async function reject() {
      const [row] = await objects.listArrived()
      await server.files.reject({ ...row!, attemptId: row!.id, reason: 'Contains a virus.' })
      return lost()
    }
    const { result } = await timed(api.upload(file()))
    expect(result).toMatchObject({
      ...{ code: 'UPLOAD_REJECTED', status: 409, params: { reason: 'Contains a virus.' } },
    })
    expect(count(finish)).toBe(2)
    log.length = 0
    expect(await api.settleUploads()).toEqual({ confirmed: 0, ended: 0, kept: 0 })
    expect(log).toEqual([])
  })

  it('is done in the queue', async () => {
    const { queue, items } = startQueue({}, {}, { routes })
    const isDone = new Promise<void>((resolve) => {
      queue.subscribe(() => items()[0]?.state === 'done' && resolve())
    })
    queue.add(file())
    await timeUntilSettled(isDone)
    expect(items()[0]!.object).toMatchObject({ checking: true })
  })
})

describe('an upload in parts that was rejected after a reload', () => {
  it('is not sent again when its file is chosen again', async () => {
    let isLost = true
    const fault = (serve: () => Promise<Response>) => (isLost ? serve().then(lost) : undefined)
    const { api, objects, server, count, log } = start({ 'POST /multipart/complete': fault }, { routes })
    expect((await timed(api.upload(large()))).result).toMatchObject({ code: 'NETWORK_ERROR' })
    expect(count('POST /multipart/abort')).toBe(0)
    const [row] = await objects.listArrived()
    await server.files.reject({ ...row!, attemptId: row!.id, reason: 'Contains a virus.' })
    isLost = false
    log.length = 0
    expect((await timed(rejectionOf(api.upload(large())))).result).toMatchObject({
      ...{ code: 'UPLOAD_REJECTED', params: { reason: 'Contains a virus.' } },
    })
    expect(log).toEqual(['POST /multipart/complete'])
  })

  it('resolves with checking without sending anything again while it waits', async () => {
    let isLost = true
    const fault = (serve: () => Promise<Response>) => (isLost ? serve().then(lost) : undefined)
    const { api, log } = start({ 'POST /multipart/complete': fault }, { routes })
    expect((await timed(api.upload(large()))).result).toMatchObject({ code: 'NETWORK_ERROR' })
    isLost = false
    log.length = 0
    expect((await timed(api.upload(large()))).result).toMatchObject({ checking: true })
    expect(log).toEqual(['POST /multipart/complete'])
  })
})
