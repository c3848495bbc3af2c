import { Readable } from 'node:stream'
import { StorageError } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { chunksOf, iterableOf, PART, streamOf } from './bodies.js'
import { OWNER, rejection, watchedService } from './watched-service.js'

/** `size` bytes in chunks of an eighth of a part. */
const bytes = (size: number) => chunksOf(new Uint8Array(size), PART / 8)

/** Bodies of one part and of several. */
const KINDS = [
  { kind: 'ReadableStream', make: streamOf, size: 5 },
  { kind: 'AsyncIterable', make: iterableOf, size: 5 },
  { kind: 'ReadableStream', make: streamOf, size: PART + 5 },
]

describe.each(KINDS)('files.put of $size bytes from a $kind', ({ make, size }) => {
  it('refuses a body that is too short', async () => {
    const { files, expectNothing, reported } = watchedService()
    const { body } = make(bytes(size - 1))
    await expect(files.put({ scope: OWNER, body, size })).rejects.toMatchObject({
      code: 'UPLOAD_MISMATCH',
      message: `The body has ended after ${size - 1} of ${size} bytes.`,
    })
    await expectNothing()
    expect(reported).toEqual([])
  })

  it('refuses a body that is too long, and stops it', async () => {
    const { files, expectNothing } = watchedService()
    const { body, isStopped } = make([...bytes(size), new Uint8Array(1)])
    await expect(files.put({ scope: OWNER, body, size })).rejects.toMatchObject({
      code: 'UPLOAD_MISMATCH',
      message: `The body is longer than its size of ${size} bytes.`,
    })
    expect(isStopped()).toBe(true)
    await expectNothing()
  })

  it('rejects with the error of a body that fails', async () => {
    const { files, expectNothing, reported } = watchedService()
    for (const error of [new Error('reset'), new StorageError('FORBIDDEN'), 'text', null] as Error[]) {
      const { body } = make(bytes(size - 1), { error })
      expect(await rejection(files.put({ scope: OWNER, body, size }))).toBe(error)
      await expectNothing()
    }
    expect(reported).toEqual([])
  })

  it('rejects with the reason of an abort, although the body never ends', async () => {
    const { files, expectNothing, reported } = watchedService()
    const abort = new AbortController()
    const reason = new Error('shut down')
    const wait = new Promise(() => undefined)
    const { body, isStopped } = make(
      (function* () {
        yield* bytes(size - 1)
        queueMicrotask(() => abort.abort(reason))
      })(),
      { wait },
    )
    const { signal } = abort
    expect(await rejection(files.put({ scope: OWNER, body, size, signal }))).toBe(reason)
    expect(isStopped()).toBe(true)
    await expectNothing()
    expect(reported).toEqual([])
  })

  it('does nothing if the signal is aborted already, except stopping the body', async () => {
    const { files, keys, expectNothing } = watchedService()
    const { body, isStopped } = make(bytes(size))
    const signal = AbortSignal.abort('over')
    expect(await rejection(files.put({ scope: OWNER, body, size, signal }))).toBe('over')
    expect([isStopped(), keys.size]).toEqual([true, 0])
    await expectNothing()
  })

  it('rejects with the error of onProgress', async () => {
    const { files, expectNothing } = watchedService()
    const error = new Error('progress bar is gone')
    const { body } = make(bytes(size))
    const onProgress = () => Promise.reject(error)
    expect(await rejection(files.put({ scope: OWNER, body, size, onProgress }))).toBe(error)
    await expectNothing()
  })

  it('stops the body if the storage fails before all bytes are there', async () => {
    const { files, objects, reportedBy } = watchedService({
      storage: (memory) => ({
        ...memory,
        write: () => Promise.reject(new Error('connection refused')),
        multipart: { ...memory.multipart!, writePart: () => Promise.reject(new Error('connection refused')) },
      }),
    })
    const { body, isStopped } = make(bytes(size), { wait: new Promise(() => undefined) })
    // A single part is only written at the end of the body.
    const given = size > PART ? body : make(bytes(size)).body
    await expect(files.put({ scope: OWNER, body: given, size })).rejects.toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
    })
    expect(await reportedBy('files.put')).toMatchObject([{ cause: { message: 'connection refused' } }])
    if (size <= PART) return
    expect(isStopped()).toBe(true)
    expect(await objects.countByScope(OWNER)).toBe(0)
  })
})

describe('files.put', () => {
  it('refuses a size that differs from that of the body', async () => {
    const { files, keys } = watchedService()
    for (const body of ['hello', new Uint8Array(5), new ArrayBuffer(5), new Blob(['hello'])]) {
      expect(await files.put({ scope: OWNER, body, size: 5, quota: {} })).toMatchObject({ size: 5 })
      const written = keys.size
      await expect(files.put({ scope: OWNER, body, size: 6 })).rejects.toMatchObject({
        code: 'UPLOAD_MISMATCH',
        message: 'The body has 5 bytes, and size is 6.',
      })
      expect(keys.size).toBe(written)
    }
  })

  it.each<[string, object]>([
    ['scope', { scope: '' }],
    ['scope', { scope: undefined }],
    ['body', { body: undefined }],
    ['body', { body: 5 }],
    ['body', { body: {} }],
    ['body', { body: [1, 2] }],
    ['body', { body: new Uint16Array(2) }],
    ['size', { size: -1 }],
    ['size', { size: '5' }],
    ['size', { body: streamOf([]).body, size: undefined }],
    ['size', { body: iterableOf([]).body, size: null }],
    ['key', { key: '' }],
    ['quota', { quota: { maxBytes: -1 } }],
    ['quota', { quota: 5 }],
    ['onProgress', { onProgress: 'yes' }],
    ['signal', { signal: {} }],
  ])('refuses an invalid %s: %j', async (field, wrong) => {
    const { files, expectNothing, reported } = watchedService()
    const input = { scope: OWNER, body: 'hello', ...wrong } as Parameters<typeof files.put>[0]
    await expect(files.put(input)).rejects.toMatchObject({ code: 'VALIDATION_ERROR', params: { field } })
    await expectNothing()
    expect(reported).toEqual([])
  })

  it('refuses an input that is no object', async () => {
    const { files } = watchedService()
    const none = null as never
    const calls = [() => files.put(none), () => files.get(none), () => files.delete(none)]
    for (const call of calls) {
      await expect(call()).rejects.toMatchObject({ code: 'VALIDATION_ERROR', params: { field: 'input' } })
    }
  })

  it('refuses a stream that is being read already', async () => {
    const { files, expectNothing } = watchedService()
    const { body } = streamOf(bytes(5))
    body.getReader()
    await expect(files.put({ scope: OWNER, body, size: 5 })).rejects.toMatchObject({
      params: { field: 'body' },
      message: 'body must not be locked: another reader has the stream.',
    })
    await expectNothing()
  })

  it('refuses chunks that are not bytes', async () => {
    const { files, expectNothing } = watchedService()
    const body = Readable.from(['hello']) as AsyncIterable<Uint8Array>
    await expect(files.put({ scope: OWNER, body, size: 5 })).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
      message: 'body must yield Uint8Array chunks (got "hello").',
    })
    await expectNothing()
  })

  it('requires a filename or a key if the route builds its keys', async () => {
    const { files } = watchedService({ routes: { docs: { key: ({ filename }) => filename } } })
    await expect(files.put({ scope: OWNER, body: 'x' })).rejects.toMatchObject({
      params: { field: 'filename' },
    })
  })

  it('destroys a Node.js stream that it has not started, or that waits', async () => {
    const { files } = watchedService({ quota: { maxBytes: 1 } })
    const unread = new Readable({ read: () => undefined })
    await expect(files.put({ scope: OWNER, body: unread, size: 5 })).rejects.toMatchObject({
      code: 'QUOTA_EXCEEDED',
    })
    expect(unread.destroyed).toBe(true)
    const unsigned = new Readable({ read: () => undefined })
    const signal = {} as AbortSignal
    await expect(files.put({ scope: OWNER, body: unsigned, size: 1, signal })).rejects.toMatchObject({
      params: { field: 'signal' },
    })
    expect(unsigned.destroyed).toBe(true)
    const abort = new AbortController()
    const waiting = new Readable({ read: () => void queueMicrotask(() => abort.abort(new Error('stop'))) })
    await expect(files.put({ scope: OWNER, body: waiting, size: 1, signal: abort.signal })).rejects.toThrow(
      'stop',
    )
    expect(waiting.destroyed).toBe(true)
  })

  it('rejects with the error of a Node.js stream that fails before it is read', async () => {
    const { files, expectNothing } = watchedService()
    const error = new Error('no such file')
    const body = new Readable({ read: () => undefined })
    const put = files.put({ scope: OWNER, body, size: 5 })
    // Node.js throws here if nothing listens, which ends the process.
    expect(() => body.emit('error', error)).not.toThrow()
    body.destroy(error)
    expect(await rejection(put)).toBe(error)
    await expectNothing()
  })

  it('survives a Node.js stream that fails after the put was refused', async () => {
    const { files } = watchedService()
    const body = new Readable({ read: () => undefined })
    await expect(files.put({ scope: OWNER, body, size: 5, contentType: 'none' })).rejects.toMatchObject({
      params: { field: 'contentType' },
    })
    expect(() => body.emit('error', new Error('no such file'))).not.toThrow()
  })

  it('adds one listener to a signal that many calls share', async () => {
    const { files } = watchedService()
    const { signal } = new AbortController()
    let listeners = 0
    const add = signal.addEventListener.bind(signal)
    signal.addEventListener = (...input: Parameters<typeof add>) => {
      listeners += 1
      add(...input)
    }
    await Promise.all(Array.from({ length: 20 }, () => files.put({ scope: OWNER, body: 'x', signal })))
    expect(listeners).toBe(1)
  })

  it('keeps bytes that were confirmed before the abort', async () => {
    const abort = new AbortController()
    const { files } = watchedService({ hooks: { onActivated: () => abort.abort(new Error('too late')) } })
    const row = await files.put({ scope: OWNER, body: 'x', signal: abort.signal })
    expect(row.status).toBe('active')
  })

  it('rejects if another call has ended the attempt', async () => {
    const { files, objects } = watchedService()
    const onProgress = async () => {
      const [row] = (await objects.listByScope({ scope: OWNER })).objects
      if (row) await objects.release(row)
    }
    await expect(
      files.put({ scope: OWNER, body: new Uint8Array(2 * PART), onProgress }),
    ).rejects.toBeInstanceOf(StorageError)
    expect(await objects.countByScope(OWNER)).toBe(0)
    await expect(files.put({ scope: OWNER, body: 'x', onProgress })).rejects.toMatchObject({
      code: 'OBJECT_NOT_FOUND',
    })
    expect(await objects.countByScope(OWNER)).toBe(0)
  })
})
