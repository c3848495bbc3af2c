import { createS3Client } from '@svc/db/client'
import { describe, expect, it } from 'vitest'
import { timeUntilSettled } from './fake-time.js'
import { large, lost, small, start, timed } from './faulty-server.js'
import { startQueue } from './queue/queue-of-files.js'
import { rejectionOf } from './rejection.js'
import { useFakePauses } from './upload-in-parts/fake-pauses.js'
import { MULTIPART_MIN_SIZE } from '../../../src/client/upload/sizes.js'
import { DEFAULT_PART_SIZE } from '../../../src/server/attempts/sizes.js'

useFakePauses()

const routes = { default: { check: true } }
const KINDS = [
  { kind: 'in one PUT', file: small, finish: 'POST /upload/confirm' },
  { kind: 'in parts', file: large, finish: 'POST /multipart/complete' },
]

describe.each(KINDS)('a checked upload $kind', ({ file, finish }) => {
  it('resolves with checking, and leaves nothing to settle', async () => {
    const { api, usage, log } = start({}, { routes })
    const { result } = await timed(api.upload(file()))
    expect(result).toMatchObject({ status: 'pending', checking: true, size: file().size })
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

  it('is not sent again while it waits', async () => {
    const { api, log } = start({}, { routes })
    const first = await timed(api.upload(file()))
    log.length = 0
    const progress: number[] = []
    const again = await timed(api.upload(file(), { onProgress: ({ loaded }) => progress.push(loaded) }))
    expect(again.result).toEqual(first.result)
    expect(progress).toEqual([file().size])
    expect(log).toEqual(['POST /upload/confirm'])
  })

  it('is not sent again within an hour of its rejection, and is after that', async () => {
    let now = new Date()
    const { api, server, log, objects, count } = start({}, { routes, now: () => now })
    await timed(api.upload(file()))
    const [row] = await objects.listArrived()
    await server.files.reject({ ...row!, attemptId: row!.id, reason: 'Contains a virus.' })
    for (let time = 0; time < 2; time++) {
      log.length = 0
      expect((await timed(rejectionOf(api.upload(file())))).result).toMatchObject({
        ...{ code: 'UPLOAD_REJECTED', params: { reason: 'Contains a virus.' } },
      })
      expect(log).toEqual(['POST /upload/confirm'])
    }
    now = new Date(now.getTime() + 3_600_001)
    log.length = 0
    expect((await timed(api.upload(file()))).result).toMatchObject({ checking: true })
    expect(count('PUT')).toBeGreaterThan(0)
  })

  it('is sent again once it was accepted, deleted or aborted', async () => {
    const { api, server, objects, log, count } = start({}, { routes })
    const end: ((upload: { key: string; attemptId: string }) => Promise<unknown>)[] = [
      (upload) => server.files.accept(upload),
      ({ key }) => api.delete({ key }),
      async () => (await api.unfinishedUploads())[0]!.discard(),
    ]
    await timed(api.upload(file()))
    for (const each of end) {
      const [row] = await objects.listArrived()
      await each(row!)
      log.length = 0
      expect((await timed(api.upload(file()))).result).toMatchObject({ checking: true })
      expect(count('PUT')).toBeGreaterThan(0)
      expect(await objects.listArrived()).toHaveLength(1)
    }
  })

  it('is among the unfinished uploads while it waits', async () => {
    const { api, server, objects, log } = start({}, { routes })
    const { result } = await timed(api.upload(file()))
    expect(await api.unfinishedUploads()).toMatchObject([
      { filename: file().name, size: file().size, loaded: file().size, object: result },
    ])
    const [row] = await objects.listArrived()
    await server.files.reject({ ...row!, attemptId: row!.id })
    expect(await api.unfinishedUploads()).toEqual([])
    expect(await api.settleUploads()).toEqual({ confirmed: 0, ended: 0, kept: 0 })
    expect(log).not.toContain('POST /upload/abort')
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

describe('another upload than the one that waits for its check', () => {
  const file = (text: string, name = 'a.txt', type = 'text/plain') => new File([text], name, { type })

  it.each([
    { what: 'other bytes of the same size', other: file('two') },
    { what: 'another name', other: file('one', 'b.txt') },
    { what: 'another type', other: file('one', 'a.txt', 'text/csv') },
    { what: 'a Blob without a name', other: new Blob(['one'], { type: 'text/plain' }) },
  ])('is sent: $what', async ({ other }) => {
    const { api, objects, log } = start({}, { routes })
    await timed(api.upload(file('one')))
    log.length = 0
    const options = other instanceof File ? {} : { filename: 'a.txt' }
    expect((await timed(api.upload(other, options))).result).toMatchObject({ checking: true })
    expect(log).toContain('PUT')
    expect(await objects.listArrived()).toHaveLength(2)
  })

  it('is sent: that of another account', async () => {
    const { objects, fetch } = start({}, { routes })
    const apiOf = (account: string) =>
      createS3Client({
        ...{ baseURL: 'http://files.test', plugins: [], fetch, account },
        headers: { 'x-user': account },
      }).api
    await timed(apiOf('ada').upload(file('one')))
    await timed(apiOf('grace').upload(file('one')))
    expect((await objects.listArrived()).map(({ scope }) => scope).sort()).toEqual(['ada', 'grace'])
  })

  it('is sent if its file was changed in a part', async () => {
    const { api, objects } = start({}, { routes })
    const bytes = new Uint8Array(MULTIPART_MIN_SIZE + 3)
    await timed(api.upload(new File([bytes], 'film.mp4')))
    bytes[1.5 * DEFAULT_PART_SIZE] = 1
    await timed(api.upload(new File([bytes], 'film.mp4')))
    expect(await objects.listArrived()).toHaveLength(2)
  })
})

describe('what a browser remembers of checked uploads', () => {
  const NAME = '@svc/db checked ["http://files.test/api/s3",null]'

  it('is of the latest hundred', async () => {
    const { api, log } = start({}, { routes })
    const file = (text: string) => new File([text], 'a.txt')
    const remembered = () => JSON.parse(localStorage.getItem(NAME)!) as { object: { id: string } }[]
    await timed(api.upload(file('one')))
    const [first] = remembered()
    const others = Array.from({ length: 99 }, (_, index) => ({
      ...first!,
      object: { id: `${index}` },
      bytes: '',
    }))
    localStorage.setItem(NAME, JSON.stringify([first, ...others]))
    await timed(api.upload(file('two')))
    expect(remembered()).toHaveLength(100)
    expect(remembered()[0]).toEqual(others[0])
    log.length = 0
    await timed(api.upload(file('one')))
    expect(log).toContain('PUT')
  })

  it('may be unreadable', async () => {
    const { api } = start({}, { routes })
    for (const text of ['{', '5', 'null', '[{}]', '[null]', '[{"until":1e15}]']) {
      localStorage.setItem(NAME, text)
      expect((await timed(api.upload(small()))).result).toMatchObject({ checking: true })
      expect((await timed(api.unfinishedUploads())).result).toHaveLength(1)
    }
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
