import { afterEach, describe, expect, it, vi } from 'vitest'
import { cutOff } from './cut-off.js'
import { threeParts } from './files.js'
import { useHurriedClock } from './hurried-clock.js'
import { BEGIN, LIST, PUT } from './request-lines.js'
import { startUploads } from './uploads-in-trouble.js'

useHurriedClock()
afterEach(() => void vi.unstubAllGlobals())

describe('the place where uploads are kept', () => {
  /** As far as an upload needs it. */
  function storageOf(entries = new Map<string, string>()) {
    return {
      entries,
      getItem: (name: string) => entries.get(name) ?? null,
      setItem: (name: string, value: string) => void entries.set(name, value),
      removeItem: (name: string) => void entries.delete(name),
    }
  }

  it('is localStorage, with the ids alone, until the upload has ended', async () => {
    const storage = storageOf()
    vi.stubGlobal('localStorage', storage)
    const uploads = startUploads()
    const file = threeParts()
    await cutOff(uploads, file)
    const { objects: [row] = [] } = await uploads.objects.listByScope({ scope: 'ada' })
    const { key, bucket, id, uploadId } = row!
    expect([...storage.entries.values()].map((value) => JSON.parse(value) as unknown)).toEqual([
      { key, bucket, id, uploadId },
    ])
    expect([...storage.entries.keys()][0]).toContain('http://files.test/api/s3')
    await uploads.api.upload(file)
    expect(storage.entries.size).toBe(0)
  })

  it.each(['', 'null', '{', '[]', '"x"', '7', '{"key":"a"}'])(
    'is as good as empty with nonsense in it: %j',
    async (nonsense) => {
      const storage = storageOf()
      vi.stubGlobal('localStorage', { ...storage, getItem: () => nonsense })
      const uploads = startUploads()
      expect(await uploads.api.upload(threeParts())).toMatchObject({ status: 'active' })
      expect(uploads.count(LIST)).toBe(0)
    },
  )

  it.each(['{"uploadId":"u"}', '{"uploadId":7}', '{"bucket":"b","key":"k","id":"x","uploadId":"u"}'])(
    'is given up where what is kept names no upload that could be: %j',
    async (nonsense) => {
      const storage = storageOf()
      const getItem = vi.fn(storage.getItem).mockReturnValueOnce(nonsense)
      vi.stubGlobal('localStorage', { ...storage, getItem })
      const uploads = startUploads()
      expect(await uploads.api.upload(threeParts())).toMatchObject({ status: 'active' })
      expect([uploads.count(LIST), uploads.count(BEGIN), uploads.count(PUT)]).toEqual([1, 1, 3])
      expect(storage.entries.size).toBe(0)
    },
  )

  it('is the page itself where localStorage refuses', async () => {
    const refuse = () => {
      throw new DOMException('No room.', 'QuotaExceededError')
    }
    vi.stubGlobal('localStorage', { getItem: refuse, setItem: refuse, removeItem: refuse })
    const uploads = startUploads()
    const file = threeParts()
    await cutOff(uploads, file)
    expect(await uploads.api.upload(file)).toMatchObject({ status: 'active' })
    expect(uploads.count(PUT)).toBe(2)
  })
})
