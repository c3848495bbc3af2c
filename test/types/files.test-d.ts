import { Readable } from 'node:stream'
import { ReadableStream as NodeReadableStream } from 'node:stream/web'
import { describe, expectTypeOf, it } from 'vitest'
import {
  createS3Server,
  db,
  memoryStorage,
  type FileURL,
  type OpenFile,
  type ServerFiles,
  type StorageObject,
} from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'

declare const files: ServerFiles
declare const blob: Blob
declare const stream: ReadableStream<Uint8Array>
declare const chunks: AsyncIterable<Uint8Array>
declare const strings: AsyncIterable<string>

describe('files of a server', () => {
  it('exists on every server', () => {
    const plugins = [db({ client: memoryAdapter(), resolveScope: () => null })]
    expectTypeOf(
      createS3Server({ storage: memoryStorage(), bucket: 'files', plugins }).files,
    ).toEqualTypeOf<ServerFiles>()
  })

  it('puts a body of known size with or without its size', () => {
    expectTypeOf(files.put({ scope: 'a', body: 'text' })).resolves.toEqualTypeOf<StorageObject>()
    void files.put({ scope: 'a', body: blob, size: 5 })
    void files.put({ scope: 'a', body: new Uint8Array(), size: null })
    void files.put({ scope: 'a', body: new ArrayBuffer(1), size: undefined })
    void files.put({ scope: 'a', body: Buffer.from('') })
  })

  it('puts a stream only with its size', () => {
    void files.put({ scope: 'a', body: stream, size: 1 })
    void files.put({ scope: 'a', body: chunks, size: 1 })
    void files.put({ scope: 'a', body: Readable.from([]), size: 1 })
    void files.put({ scope: 'a', body: new NodeReadableStream<Uint8Array>(), size: 1 })
    // @ts-expect-error a stream needs its size
    void files.put({ scope: 'a', body: stream })
    // @ts-expect-error an iterable needs its size
    void files.put({ scope: 'a', body: chunks })
    // @ts-expect-error the size of a stream is a number
    void files.put({ scope: 'a', body: stream, size: null })
    // @ts-expect-error chunks are bytes
    void files.put({ scope: 'a', body: strings, size: 1 })
    // @ts-expect-error a file has an owner
    void files.put({ body: 'text' })
  })

  it('accepts null and undefined for everything else', () => {
    const none = { filename: null, route: undefined, contentType: null, key: null, metadata: null }
    void files.put({ scope: 'a', body: '', quota: null, onProgress: null, signal: undefined, ...none })
    void files.get({ key: 'a', bucket: null, scope: undefined, attemptId: null, range: null, signal: null })
    void files.downloadURL({ key: 'a', expiresIn: null, filename: null, disposition: undefined })
    void files.delete({ key: 'a', mode: null })
  })

  it('gets an object and its bytes', () => {
    expectTypeOf(files.get({ key: 'a', range: { start: 0 } })).resolves.toEqualTypeOf<OpenFile>()
    expectTypeOf<OpenFile['body']>().toEqualTypeOf<ReadableStream<Uint8Array>>()
    // @ts-expect-error a range has a start
    void files.get({ key: 'a', range: { end: 5 } })
  })

  it('returns a URL, and what was deleted', () => {
    expectTypeOf(files.downloadURL({ key: 'a' })).resolves.toEqualTypeOf<FileURL>()
    expectTypeOf<FileURL['expiresAt']>().toEqualTypeOf<Date>()
    expectTypeOf(files.delete({ key: 'a' })).resolves.toEqualTypeOf<StorageObject | null>()
    // @ts-expect-error a download is shown or saved
    void files.downloadURL({ key: 'a', disposition: 'embedded' })
  })
})
