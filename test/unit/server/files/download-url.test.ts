import { memoryStorage, type SignDownloadInput } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { ManualClock, SECOND } from '../../../conformance/clock.js'
import { BASE, follow } from '../service.js'
import { OWNER, rejection, watchedService } from './watched-service.js'

const WEEK = 7 * 24 * 60 * 60

function served(options: Parameters<typeof watchedService>[0] = {}) {
  const clock = new ManualClock()
  const storage = () => memoryStorage({ baseURL: `${BASE}/_storage/`, now: clock.now })
  return watchedService({ storage, ...options, clock })
}

const file = { scope: OWNER, key: 'a/b', body: 'hello', filename: 'b.txt', contentType: 'text/plain' }

describe('files.downloadURL', () => {
  it('returns a URL of the bytes, its expiry and the object', async () => {
    const { files, s3 } = served()
    const row = await files.put(file)
    const { url, object } = await files.downloadURL({ key: 'a/b' })
    expect(object).toEqual(row)
    const response = await follow({ handler: s3.handler }, url)
    expect(await response.text()).toBe('hello')
    expect(response.headers.get('content-disposition')).toBe(
      `attachment; filename="b.txt"; filename*=UTF-8''b.txt`,
    )
  })

  it.each([
    [{}, {}, 900],
    [{ download: { expiresIn: 60 } }, {}, 60],
    [{ download: false }, {}, 900],
    [{ download: { expiresIn: 60 } }, { expiresIn: 1 }, 1],
    [{}, { expiresIn: WEEK }, WEEK],
  ])('with the options %j and the input %j is valid for %d seconds', async (options, input, seconds) => {
    const { files, clock } = served(options)
    await files.put(file)
    const { expiresAt } = await files.downloadURL({ key: 'a/b', ...input })
    expect(expiresAt).toEqual(clock.in(seconds * SECOND))
  })

  it.each([
    ['expiresIn', 0],
    ['expiresIn', WEEK + 1],
    ['expiresIn', 1.5],
    ['expiresIn', '60'],
    ['filename', ''],
    ['disposition', 'embedded'],
    ['attemptId', 'x'],
    ['key', ''],
  ])('refuses the %s %j', async (field, value) => {
    const { files } = served()
    await files.put(file)
    await expect(files.downloadURL({ key: 'a/b', [field]: value })).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
      params: { field },
    })
  })

  it('accepts a file name', async () => {
    const { files, s3 } = served()
    await files.put(file)
    const { url } = await files.downloadURL({ key: 'a/b', filename: 'report "1".txt' })
    const response = await follow({ handler: s3.handler }, url)
    expect(response.headers.get('content-disposition')).toContain(`filename*=UTF-8''report%20%221%22.txt`)
  })

  it.each([
    ['image/png', 'inline'],
    ['image/svg+xml', 'attachment'],
    ['AUDIO/mpeg; codecs=x', 'inline'],
    ['video/mp4', 'inline'],
    ['application/pdf', 'inline'],
    ['text/plain; charset=utf-8', 'inline'],
    ['text/html', 'attachment'],
    ['application/xhtml+xml', 'attachment'],
    ['application/octet-stream', 'attachment'],
  ])('with inline sends %s as %s', async (contentType, expected) => {
    const { files, s3 } = served()
    await files.put({ ...file, contentType })
    const dispositionOf = async (disposition: 'inline' | 'attachment' | null) => {
      const { url } = await files.downloadURL({ key: 'a/b', disposition })
      const response = await follow({ handler: s3.handler }, url)
      return response.headers.get('content-disposition')?.split(';')[0]
    }
    expect(await dispositionOf('inline')).toBe(expected)
    expect(await dispositionOf('attachment')).toBe('attachment')
    expect(await dispositionOf(null)).toBe('attachment')
  })

  it('throws a TypeError if the storage serves its own URLs and has no baseURL', async () => {
    const { files, reported } = watchedService()
    await files.put(file)
    const error = await rejection(files.downloadURL({ key: 'a/b' }))
    expect(error).toBeInstanceOf(TypeError)
    expect((error as Error).message).toMatch(/^files\.downloadURL: the storage must have a baseURL/)
    expect(reported).toEqual([])
  })

  it('asks a storage with its own server for a URL', async () => {
    const signed: SignDownloadInput[] = []
    const { files } = served({
      storage: (memory) => ({
        ...memory,
        serve: undefined as never,
        async signDownload(input) {
          signed.push(input)
          return { url: 'https://bucket.example/a' }
        },
      }),
    })
    const row = await files.put({ ...file, filename: null })
    expect(await files.downloadURL({ key: 'a/b' })).toMatchObject({ url: 'https://bucket.example/a' })
    expect(signed).toMatchObject([{ key: row.storageKey, filename: 'a/b', serverURL: '' }])
  })
})
