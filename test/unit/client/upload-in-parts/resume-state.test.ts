import { afterEach, describe, expect, it, vi } from 'vitest'
import { stubFailingLocalStorage, stubLocalStorage } from '../local-storage.js'
import { interrupt } from './interrupted.js'
import { threeParts } from './files.js'
import { useFakePauses } from './fake-pauses.js'
import { START, LIST, PUT } from './request-lines.js'
import { startUploads } from './faulty-uploads.js'

useFakePauses()
afterEach(() => void vi.unstubAllGlobals())

describe('the resume state', () => {
  it('stays in localStorage, until the upload has ended', async () => {
    const entries = stubLocalStorage()
    const uploads = startUploads()
    const file = threeParts()
    await interrupt(uploads, file)
    const { objects: [row] = [] } = await uploads.objects.listByScope({ scope: 'ada' })
    const { key, bucket, id, uploadId } = row!
    expect([...entries.values()].map((value) => JSON.parse(value) as unknown)).toEqual([
      expect.objectContaining({
        object: expect.objectContaining({
          key,
          bucket,
          id,
          filename: file.name,
          declaredSize: file.size,
        }) as object,
        uploadId,
      }),
    ])
    expect([...entries.keys()][0]).toContain('http://files.test/api/s3')
    await uploads.api.upload(file)
    expect(entries.size).toBe(0)
  })

  it('ignores and removes invalid values, and ignores what version 1.5.5 kept', async () => {
    const entries = stubLocalStorage()
    const uploads = startUploads()
    const file = threeParts()
    const invalid = [
      '',
      'null',
      '{',
      '[]',
      '"x"',
      '7',
      '{"id":"x"}',
      '{"object":{}}',
      '{"object":7,"aborted":true}',
    ]
    for (const [index, value] of invalid.entries())
      entries.set(`@svc/db attempt ["http://files.test/api/s3",null] ${index}`, value)
    const place = ['http://files.test/api/s3', null, file.name, [], file.name, file.size, file.lastModified]
    const older = `@svc/db upload ${JSON.stringify(place)}`
    entries.set(older, '{"bucket":"files","key":"k","id":"x","uploadId":"u"}')
    expect(await uploads.api.upload(file)).toMatchObject({ status: 'active' })
    expect([uploads.count(LIST), uploads.count(START), uploads.count(PUT)]).toEqual([0, 1, 3])
    expect([...entries.keys()]).toEqual([older])
  })

  it('stays in memory if localStorage throws', async () => {
    stubFailingLocalStorage()
    const uploads = startUploads()
    const file = threeParts()
    await interrupt(uploads, file)
    expect(await uploads.api.upload(file)).toMatchObject({ status: 'active' })
    expect(uploads.count(PUT)).toBe(2)
  })
})
