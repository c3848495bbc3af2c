import { memoryStorage, type StorageObject } from '@svc/db'
import type { SignDownloadInput } from '@svc/db/adapter'
import { describe, expect, it } from 'vitest'
import { ManualClock, SECOND } from '../../../conformance/clock.js'
import { BASE, follow } from '../service.js'
import { OWNER, rejection, watchedService } from './watched-service.js'

const WEEK = 7 * 24 * 60 * 60
const file = { scope: OWNER, key: 'a/b', body: 'hello', filename: 'b.txt', contentType: 'text/plain' }

async function withFile(options: Parameters<typeof watchedService>[0] = {}) {
  const clock = new ManualClock()
  const storage = () => memoryStorage({ baseURL: `${BASE}/_storage/`, now: clock.now })
  const service = watchedService({ storage, ...options, clock })
  return { ...service, row: await service.files.put(file) }
}

describe('files.downloadURL', () => {
  it('returns a URL of the bytes, its expiry and the object', async () => {
    const { files, s3, row } = await withFile()
    const { url, object } = await files.downloadURL({ key: 'a/b' })
    expect(object).toEqual(row)
    const response = await follow(s3, url)
    expect(await response.text()).toBe('hello')
    const disposition = `attachment; filename="b.txt"; filename*=UTF-8''b.txt`
    expect(response.headers.get('content-disposition')).toBe(disposition)
  })

  it.each([
    [{}, {}, 900],
    [{ download: { expiresIn: 60 } }, {}, 60],
    [{ download: false }, {}, 900],
    [{ download: { expiresIn: 60 } }, { expiresIn: 1 }, 1],
    [{}, { expiresIn: WEEK }, WEEK],
    [{ download: { expiresIn: ({ size }: StorageObject) => size! * 10, maxExpiresIn: 100 } }, {}, 50],
    [{ download: { expiresIn: () => 60, maxExpiresIn: 100 } }, { expiresIn: 200 }, 200],
  ])('with the options %j and the input %j is valid for %d seconds', async (options, input, seconds) => {
    const { files, clock } = await withFile(options)
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
    const { files } = await withFile()
    const error = { code: 'VALIDATION_ERROR', params: { field } }
    await expect(files.downloadURL({ key: 'a/b', [field]: value })).rejects.toMatchObject(error)
  })

  it('accepts a file name, and a disposition for types that browsers only show', async () => {
    const { files, s3 } = await withFile()
    const dispositionOf = async (input: object) => {
      const { url } = await files.downloadURL({ key: 'a/b', ...input })
      return (await follow(s3, url)).headers.get('content-disposition')
    }
    const encoded = `filename*=UTF-8''report%20%221%22.txt`
    expect(await dispositionOf({ filename: 'report "1".txt' })).toContain(encoded)
    expect(await dispositionOf({ disposition: 'inline' })).toMatch(/^inline;/)
    await files.delete({ key: 'a/b' })
    await files.put({ ...file, contentType: 'text/html' })
    expect(await dispositionOf({ disposition: 'inline' })).toMatch(/^attachment;/)
  })

  it('throws a TypeError if the storage serves its own URLs and has no baseURL', async () => {
    const { files, reported } = await withFile({ storage: (memory) => memory })
    const error = await rejection(files.downloadURL({ key: 'a/b' }))
    expect(error).toBeInstanceOf(TypeError)
    expect((error as Error).message).toMatch(/^files\.downloadURL: the storage must have a baseURL/)
    expect(reported).toEqual([])
  })

  it('asks a storage with its own server for a URL', async () => {
    const signed: SignDownloadInput[] = []
    const url = 'https://bucket.example/a'
    const { files, row } = await withFile({
      storage: (memory) => ({
        ...memory,
        serve: undefined as never,
        signDownload: async (input) => Promise.resolve((signed.push(input), { url })),
      }),
    })
    expect(await files.downloadURL({ key: 'a/b' })).toMatchObject({ url })
    await files.put({ ...file, key: 'unnamed', filename: null })
    await files.downloadURL({ key: 'unnamed' })
    const serverURL = ''
    expect(signed).toMatchObject([
      { key: row.storageKey, filename: 'b.txt', serverURL },
      { filename: 'unnamed', serverURL },
    ])
  })
})
