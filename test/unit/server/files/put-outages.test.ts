import { cleanUp, StorageError, type ObjectStorage } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { HOUR } from '../../../conformance/clock.js'
import { cleanUpItems, around, outcomesOf, startService } from '../service.js'
import { iterableOf, PART } from './bodies.js'
import { OWNER, rejection, watchedService } from './watched-service.js'

describe('files.put on a storage without a method', () => {
  const startWith = (storage: (memory: ObjectStorage) => ObjectStorage) => {
    const service = startService({ storage })
    return { ...service, files: service.s3.files }
  }
  const without =
    (name: 'write' | 'writePart' | 'multipart') =>
    ({ multipart, ...memory }: ObjectStorage): ObjectStorage => {
      if (name === 'multipart') return memory
      if (name === 'write') return { ...memory, write: undefined as never, multipart: multipart! }
      return { ...memory, multipart: { ...multipart!, writePart: undefined as never } }
    }

  it.each([
    ['write', 5, 'files.put: the storage must implement write().'],
    ['writePart', PART + 1, 'files.put: the storage must implement multipart.writePart().'],
    ['multipart', PART + 1, 'files.put: the storage must implement multipart.writePart().'],
  ] as const)('throws a TypeError that names %s', async (name, size, message) => {
    const { files, objects, reported } = startWith(without(name))
    const put = files.put({ scope: OWNER, body: new Uint8Array(size) })
    expect(await rejection(put)).toEqual(new TypeError(message))
    expect(await objects.countByScope(OWNER)).toBe(0)
    expect(reported).toEqual([])
  })

  it('stores files of one part without multipart', async () => {
    const { files } = startWith(without('multipart'))
    expect(await files.put({ scope: OWNER, body: new Uint8Array(PART) })).toMatchObject({ size: PART })
  })
})

describe.each([5, PART + 5])('files.put of %d bytes, when a system is away at the end', (size) => {
  const body = new Uint8Array(size)

  it.each(['the bucket', 'the database'])(
    'leaves the bytes to cleanUp, which confirms them: %s',
    async (system) => {
      let isAway = true
      const { files, objects, clock, s3 } = watchedService({
        storage: (memory) => ({
          ...memory,
          head: (at) =>
            isAway && system === 'the bucket' ? Promise.reject(new Error('timeout')) : memory.head(at),
        }),
      })
      const down = new StorageError('DATABASE_UNAVAILABLE')
      around(objects, 'confirm', (confirm) => (input) => {
        return isAway && system === 'the database' ? Promise.reject(down) : confirm(input)
      })
      await expect(files.put({ scope: OWNER, body, key: 'k' })).rejects.toThrow('is unavailable')
      expect(await objects.findPending({ bucket: 'files', key: 'k' })).not.toBeNull()
      isAway = false
      clock.advance(48 * HOUR)
      expect(outcomesOf((await cleanUpItems(s3)).reservations)).toEqual(['confirmed'])
      expect((await files.get({ key: 'k' })).object.size).toBe(size)
    },
  )

  it('reports that the attempt could not be ended, and lets it lapse', async () => {
    const { files, objects, clock, s3, reportedBy, expectNothing } = watchedService()
    let isAway = true
    const down = new StorageError('DATABASE_UNAVAILABLE')
    around(objects, 'release', (release) => (input) => (isAway ? Promise.reject(down) : release(input)))
    const error = new Error('reset')
    const failing = iterableOf([body.subarray(1)], { error })
    expect(await rejection(files.put({ scope: OWNER, body: failing.body, size }))).toBe(error)
    expect(await reportedBy('files.put')).toEqual([down])
    isAway = false
    clock.advance(48 * HOUR)
    expect(outcomesOf((await cleanUpItems(s3)).reservations)).toEqual(['released'])
    clock.advance(48 * HOUR)
    await cleanUp(s3)
    await expectNothing()
  })
})

it('files.put succeeds if an earlier try of the write had succeeded', async () => {
  const { files } = watchedService({
    storage: (memory) => ({
      ...memory,
      write: async (input) => (await memory.write!(input)) && memory.write!(input),
    }),
  })
  expect(await files.put({ scope: OWNER, body: 'x' })).toMatchObject({ size: 1 })
})
