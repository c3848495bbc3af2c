import { afterEach, describe, expect, it, vi } from 'vitest'
import { diskService } from './disk-service.js'
import { onEveryFile, watchEveryFile } from './file-handles.js'

const CHUNK = 64 * 1024
const CHUNKS = 20
const SIZE = CHUNK * CHUNKS - 7

afterEach(() => vi.restoreAllMocks())

function chunkAt(index: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Math.min(CHUNK, SIZE - index * CHUNK)).fill(index + 1)
}

async function serviceWithLargeFile() {
  const service = diskService()
  let given = 0
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (given === CHUNKS) return controller.close()
        controller.enqueue(chunkAt(given++))
      },
    },
    { highWaterMark: 0 },
  )
  expect((await service.put({ ...service.upload, size: SIZE }, body)).status).toBe(200)
  return service
}

describe('diskStorage streams', () => {
  it('an upload, writing each chunk before it reads the next', async () => {
    const write = watchEveryFile('writeFile')
    const { upload, put } = diskService()
    const writtenBefore: number[] = []
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          const chunks = write.calls().filter(([data]) => typeof data !== 'string').length
          if (writtenBefore.push(chunks) > CHUNKS) return controller.close()
          controller.enqueue(chunkAt(writtenBefore.length - 1))
        },
      },
      { highWaterMark: 0 },
    )
    expect((await put({ ...upload, size: SIZE }, body)).status).toBe(200)
    expect(writtenBefore).toEqual(Array.from({ length: CHUNKS + 1 }, (_, index) => index))
  })

  it('only on demand, and closes the file when the download is cancelled', async () => {
    const { download, get } = await serviceWithLargeFile()
    const described = watchEveryFile('stat')
    const read = watchEveryFile('read')
    const reader = (await get(download)).body!.getReader()
    // Some servers neither read nor cancel the body if the client has left.
    expect(described.descriptors()).toEqual([-1])
    read.forget()
    expect((await reader.read()).value).toHaveLength(CHUNK)
    await reader.read()
    // The description once more, and two chunks.
    expect(read.calls()).toHaveLength(3)
    expect(described.descriptors().some((descriptor) => descriptor !== -1)).toBe(true)
    await reader.cancel()
    expect(described.descriptors()).toEqual([-1, -1])
  })

  it('and leaves no files open', async () => {
    const { storage, upload, download, put, get } = await serviceWithLargeFile()
    const described = watchEveryFile('stat')
    await (await get(download)).arrayBuffer()
    await get(download, 'HEAD')
    for (const range of ['bytes=1-2', 'bytes=0-', `bytes=${SIZE}-`]) {
      await (await get(download, 'GET', { range })).arrayBuffer()
    }
    await get(download, 'GET', { 'if-none-match': '*' })
    await storage.head(upload)
    await put({ ...upload, key: 'small' }, 'hello')
    await get({ ...download, key: 'small' })
    expect(described.descriptors()).toEqual(described.calls().map(() => -1))
    expect(described.calls().length).toBeGreaterThanOrEqual(8)
  })

  it('a download to its end if the object is removed meanwhile', async () => {
    const { storage, upload, download, get } = await serviceWithLargeFile()
    const reader = (await get(download)).body!.getReader()
    let size = (await reader.read()).value!.length
    await storage.remove(upload)
    for (let next = await reader.read(); !next.done; next = await reader.read()) size += next.value.length
    expect(size).toBe(SIZE)
    expect((await get(download)).status).toBe(404)
  })

  it('no other object that took the place before the first read', async () => {
    const { storage, upload, download, put, get } = await serviceWithLargeFile()
    const described = watchEveryFile('stat')
    const response = await get(download)
    await storage.remove(upload)
    await put(upload, 'hello')
    await expect(response.arrayBuffer()).rejects.toThrow(/replaced before its bytes were read/)
    expect(described.descriptors().every((descriptor) => descriptor === -1)).toBe(true)
  })

  it('and continues after a short read', async () => {
    const { upload, download, put, get } = diskService()
    await put(upload, 'hello')
    onEveryFile('read', ({ args: [buffer, offset, length, position], act }) => {
      const few = (buffer as Uint8Array).byteLength === 5 ? Math.min(2, length as number) : length
      return act(buffer, offset, few, position)
    })
    expect(await (await get(download)).text()).toBe('hello')
  })

  it('and aborts a download on a read error', async () => {
    const { download, get } = await serviceWithLargeFile()
    const described = watchEveryFile('stat')
    const response = await get(download)
    onEveryFile('read', async () => ({ bytesRead: 0 }))
    await expect(response.arrayBuffer()).rejects.toThrow(/become shorter/)
    expect(described.descriptors()).toEqual([-1, -1])
  })
})
