import { memoryStorage, type ObjectStorage } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../conformance/clock.js'
import { ORIGIN } from '../service.js'
import { pattern, readAll, streamOf } from './bodies.js'
import { OWNER, rejection, watchedService } from './watched-service.js'

const TEXT = 'hello world'
const text = async (body: ReadableStream<Uint8Array>) => Buffer.from(await readAll(body)).toString()

async function withFile(options: Parameters<typeof watchedService>[0] = {}) {
  const service = watchedService(options)
  const row = await service.files.put({ scope: OWNER, body: TEXT, key: 'a/b', filename: 'b.txt' })
  return { ...service, row }
}

describe('files.get', () => {
  it('returns the active row and its bytes', async () => {
    const { files, row } = await withFile()
    const { object, body } = await files.get({ key: 'a/b' })
    expect(object).toEqual(row)
    expect(await text(body)).toBe(TEXT)
  })

  it.each([
    [{ start: 0 }, TEXT],
    [{ start: 6 }, 'world'],
    [{ start: 6, end: null }, 'world'],
    [{ start: 0, end: 0 }, 'h'],
    [{ start: 4, end: 6 }, 'o w'],
    [{ start: 10, end: 10 }, 'd'],
    [{ start: 6, end: 1e9 }, 'world'],
    [null, TEXT],
  ])('returns the range %j', async (range, expected) => {
    const { files } = await withFile()
    expect(await text((await files.get({ key: 'a/b', range })).body)).toBe(expected)
  })

  it.each([
    [{ start: 11 }, 'range must start within the object of 11 bytes (got 11).'],
    [{ start: 11, end: 12 }, 'range must start within the object of 11 bytes (got 11).'],
    [{ start: -1 }, 'range.start must be an integer from 0 to 9007199254740991 (got -1).'],
    [{ start: 1.5 }, 'range.start must be an integer from 0 to 9007199254740991 (got 1.5).'],
    [{ start: 0, end: '4' }, 'range.end must be an integer from 0 to 9007199254740991 (got "4").'],
    [{ start: 5, end: 4 }, 'range must end at or after its start (got 5 to 4).'],
    [{ end: 4 }, 'range.start must be an integer from 0 to 9007199254740991 (got undefined).'],
    ['0-4', 'range must be an object (got "0-4").'],
  ])('refuses the range %j', async (range, message) => {
    const { files } = await withFile()
    await expect(files.get({ key: 'a/b', range: range as { start: number } })).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
      message,
      params: { field: message.split(' ')[0] },
    })
  })

  it('returns a file of 0 bytes, which has no range', async () => {
    const { files } = watchedService()
    const { key } = await files.put({ scope: OWNER, body: '' })
    expect(await text((await files.get({ key })).body)).toBe('')
    await expect(files.get({ key, range: { start: 0 } })).rejects.toMatchObject({
      params: { field: 'range' },
    })
  })

  it('finds only an active object, of this scope and attempt', async () => {
    const clock = new ManualClock()
    const { files, row, as } = await withFile({
      clock,
      storage: () => memoryStorage({ baseURL: ORIGIN, now: clock.now }),
    })
    const { object } = await as(OWNER).begun()
    const missing = [
      { key: 'other' },
      { key: object.key },
      { key: 'a/b', bucket: 'other' },
      { key: 'a/b', scope: 'user:2' },
      { key: 'a/b', attemptId: object.id },
    ]
    for (const input of missing) {
      await expect(files.get(input)).rejects.toMatchObject({ code: 'OBJECT_NOT_FOUND' })
      await expect(files.downloadURL(input)).rejects.toMatchObject({ code: 'OBJECT_NOT_FOUND' })
    }
    const found = { key: 'a/b', bucket: 'files', scope: OWNER, attemptId: row.attemptId }
    expect((await files.get(found)).object).toEqual(row)
    expect((await files.downloadURL(found)).object).toEqual(row)
  })

  it('refuses invalid input', async () => {
    const { files } = await withFile()
    for (const [field, value] of Object.entries({
      key: '',
      bucket: '',
      scope: '',
      attemptId: 'x',
      signal: 5,
    })) {
      await expect(files.get({ key: 'a/b', [field]: value })).rejects.toMatchObject({
        code: 'VALIDATION_ERROR',
        params: { field },
      })
    }
  })

  it('reads at the speed of its reader, and cancels the storage', async () => {
    const { body, isStopped } = streamOf([pattern(5), pattern(6)])
    const { files } = await withFile({ storage: (memory) => ({ ...memory, read: async () => body }) })
    const file = await files.get({ key: 'a/b' })
    const reader = file.body.getReader()
    expect((await reader.read()).value).toEqual(pattern(5))
    await reader.cancel()
    expect(isStopped()).toBe(true)
  })

  it('rejects with the reason of an abort, before and while it is read', async () => {
    const waiting = streamOf([pattern(5)], { wait: new Promise(() => undefined) })
    const { files, reported } = await withFile({
      storage: (memory) => ({ ...memory, read: async () => waiting.body }),
    })
    expect(await rejection(files.get({ key: 'a/b', signal: AbortSignal.abort('over') }))).toBe('over')
    const abort = new AbortController()
    const { body } = await files.get({ key: 'a/b', signal: abort.signal })
    const reader = body.getReader()
    await reader.read()
    const reading = rejection(reader.read())
    abort.abort('stop')
    expect(await reading).toBe('stop')
    expect(waiting.isStopped()).toBe(true)
    expect(reported).toEqual([])
  })

  it('cancels the storage at an abort even if nothing reads', async () => {
    const { body, isStopped } = streamOf([pattern(5)])
    const { files } = await withFile({ storage: (memory) => ({ ...memory, read: async () => body }) })
    const abort = new AbortController()
    await files.get({ key: 'a/b', signal: abort.signal })
    abort.abort('stop')
    await Promise.resolve()
    expect(isStopped()).toBe(true)
  })

  it('rejects with the reason of an abort during the call, and leaves nothing open', async () => {
    const { body, isStopped } = streamOf([pattern(5)])
    const abort = new AbortController()
    const { files } = await withFile({
      storage: (memory) => ({
        ...memory,
        async read() {
          abort.abort('stop')
          return body
        },
      }),
    })
    expect(await rejection(files.get({ key: 'a/b', signal: abort.signal }))).toBe('stop')
    expect(isStopped()).toBe(true)
  })

  it('reports a storage that fails, or breaks off', async () => {
    const cause = new Error('reset')
    let read: ObjectStorage['read'] = () => Promise.reject(cause)
    const { files, reportedBy } = await withFile({
      storage: (memory) => ({ ...memory, read: (input) => read!(input) }),
    })
    await expect(files.get({ key: 'a/b' })).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE', cause })
    read = async () => streamOf([pattern(5)], { error: cause }).body
    const { body } = await files.get({ key: 'a/b' })
    await expect(readAll(body)).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE', cause })
    expect(await reportedBy('files.get')).toMatchObject([{ cause }, { cause }])
  })

  it('reports a storage that breaks off while nothing reads', async () => {
    const cause = new Error('idle')
    const stream = new ReadableStream<Uint8Array>({ start: (controller) => controller.error(cause) })
    const { files, reportedBy } = await withFile({
      storage: (memory) => ({ ...memory, read: async () => stream }),
    })
    const { body } = await files.get({ key: 'a/b' })
    await expect.poll(() => reportedBy('files.get')).toMatchObject([{ cause }])
    await expect(readAll(body)).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE', cause })
    expect(await reportedBy('files.get')).toHaveLength(1)
  })

  it('returns the version that has replaced the object meanwhile', async () => {
    let replace: (() => Promise<unknown>) | null = null
    const { files } = await withFile({
      routes: { docs: { key: () => 'a/b', overwrite: true } },
      storage: (memory) => ({
        ...memory,
        async read(input) {
          const act = replace
          replace = null
          await act?.()
          return act ? null : memory.read!(input)
        },
      }),
    })
    replace = () => files.put({ scope: OWNER, body: 'new', key: 'a/b' })
    const { object, body } = await files.get({ key: 'a/b' })
    expect([object.size, await text(body)]).toEqual([3, 'new'])
  })

  it('rejects if the bytes are missing', async () => {
    const { files, storage, row } = await withFile()
    await storage.remove({ bucket: row.bucket, key: row.storageKey! })
    await expect(files.get({ key: 'a/b' })).rejects.toMatchObject({
      code: 'OBJECT_NOT_FOUND',
      message: 'The bytes of the object are missing.',
    })
  })

  it('throws a TypeError if the storage has no read()', async () => {
    const { files } = await withFile({ storage: (memory) => ({ ...memory, read: undefined as never }) })
    const error = await rejection(files.get({ key: 'a/b' }))
    expect(error).toBeInstanceOf(TypeError)
    expect((error as Error).message).toBe('files.get: the storage must implement read().')
  })
})
