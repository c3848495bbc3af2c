import { describe, expect, it } from 'vitest'
import { lost, start, timed } from './faulty-server.js'
import { rejectionOf } from './rejection.js'
import { NOTHING_USED } from './server.js'
import { useFakePauses } from './upload-in-parts/fake-pauses.js'
import { DEFAULT_PART_SIZE } from '../../../src/server/attempts/sizes.js'

useFakePauses()

describe('a file that can’t be read', () => {
  const unreadable = (size: number) => {
    const file = new File([new Uint8Array(size)], 'a', { lastModified: 1 })
    let failures = size === 0 ? Infinity : 0
    let isChanged = false
    const gone = () => Promise.reject(new DOMException('Gone.', 'NotReadableError'))
    const guarded = (blob: Blob): Blob =>
      Object.assign(blob, {
        slice: (...range: Parameters<Blob['slice']>) => guarded(Blob.prototype.slice.apply(blob, range)),
        arrayBuffer: async () => {
          if (failures-- > 0) return gone()
          const bytes: ArrayBuffer = await Blob.prototype.arrayBuffer.call(blob)
          if (isChanged) new Uint8Array(bytes).fill(7)
          return bytes
        },
      })
    guarded(file)
    const fail = (times: number) => void (failures = times)
    return { file, fail, remove: () => fail(Infinity), change: () => void (isChanged = true) }
  }

  /** Starts a client, and does something with the file at each PUT. */
  const startWith = (act: () => void) =>
    start({
      PUT: (serve) => {
        act()
        return serve()
      },
    })

  it('is refused before anything is reserved', async () => {
    const client = start()
    expect(await rejectionOf(client.api.upload(unreadable(0).file))).toMatchObject({
      code: 'FILE_UNREADABLE',
    })
    expect(client.log).toEqual([])
  })

  it('ends the attempt in parts when it can no longer be read, without retries', async () => {
    const { file, remove } = unreadable(6 * DEFAULT_PART_SIZE)
    const client = startWith(remove)
    const { result } = await timed(rejectionOf(client.api.upload(file)))
    expect(result).toMatchObject({ code: 'FILE_UNREADABLE' })
    expect(client.count('PUT')).toBeLessThanOrEqual(4)
    expect(await client.usage()).toEqual(NOTHING_USED)
  })

  it('is read again if a part could not be read once, as by a page that is being left', async () => {
    const { file, fail } = unreadable(6 * DEFAULT_PART_SIZE)
    let isFirst = true
    const client = startWith(() => {
      if (isFirst) fail(1)
      isFirst = false
    })
    expect((await timed(client.api.upload(file))).result).toMatchObject({ status: 'active' })
    expect(client.count('POST /multipart/abort')).toBe(0)
  })

  it('is reported if its bytes change while it is sent, and the browser reads on', async () => {
    const { file, change } = unreadable(6 * DEFAULT_PART_SIZE)
    const client = startWith(change)
    const { result } = await timed(rejectionOf(client.api.upload(file)))
    expect(result).toMatchObject({
      code: 'FILE_UNREADABLE',
      message: 'The file was changed while it was uploaded.',
    })
    expect(client.count('POST /multipart/complete')).toBe(0)
    expect(await client.usage()).toEqual(NOTHING_USED)
  })

  it('is sent from memory in one PUT', async () => {
    const { file, remove } = unreadable(1000)
    const client = start({
      PUT: (_serve, call) => {
        remove()
        return call === 1 ? lost() : undefined
      },
    })
    expect((await timed(client.api.upload(file))).result).toMatchObject({ status: 'active', size: 1000 })
  })
})
