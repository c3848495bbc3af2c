import { cleanUp, StorageError, type ObjectStorage } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { HOUR } from '../../../conformance/clock.js'
import { around, outcomesOf, startService } from '../service.js'
import { chunksOf, iterableOf, MIB, PART } from './bodies.js'
import { OWNER, rejection, watchedService } from './watched-service.js'

/** Bodies of one part and of several. */
const SIZES = [5, 2 * PART + 5]

/** `size` bytes in chunks of 1 MiB. */
const bytes = (size: number) => chunksOf(new Uint8Array(size), MIB)

describe('files.put on a storage without a method', () => {
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
    const error = await rejection(files.put({ scope: OWNER, body: new Uint8Array(size) }))
    expect(error).toBeInstanceOf(TypeError)
    expect((error as Error).message).toBe(message)
    expect(await objects.countByScope(OWNER)).toBe(0)
    expect(reported).toEqual([])
  })

  it('stores files of one part without multipart', async () => {
    const { files } = startWith(without('multipart'))
    expect(await files.put({ scope: OWNER, body: new Uint8Array(PART) })).toMatchObject({ size: PART })
  })
})

describe.each(SIZES)('files.put of %d bytes, when a system is away at the end', (size) => {
  const body = new Uint8Array(size)

  it('leaves the reservation to cleanUp, which confirms bytes that arrived', async () => {
    let isAway = true
    const { files, objects, clock, s3, reportedBy } = watchedService({
      storage: (memory) => ({
        ...memory,
        head: (at) => (isAway ? Promise.reject(new Error('timeout')) : memory.head(at)),
      }),
    })
    await expect(files.put({ scope: OWNER, body, key: 'k' })).rejects.toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
    })
    expect(await reportedBy('files.put')).toHaveLength(1)
    expect(await objects.findPending({ bucket: 'files', key: 'k' })).not.toBeNull()
    isAway = false
    clock.advance(48 * HOUR)
    expect(outcomesOf((await cleanUp(s3)).reservations)).toEqual(['confirmed'])
    expect((await files.get({ key: 'k' })).object.size).toBe(size)
  })

  it('leaves it to cleanUp if the database is away', async () => {
    const { files, objects, clock, s3 } = watchedService()
    let isAway = true
    around(
      objects,
      'confirm',
      (confirm) => (input) =>
        isAway ? Promise.reject(new StorageError('DATABASE_UNAVAILABLE')) : confirm(input),
    )
    await expect(files.put({ scope: OWNER, body, key: 'k' })).rejects.toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
    })
    isAway = false
    clock.advance(48 * HOUR)
    expect(outcomesOf((await cleanUp(s3)).reservations)).toEqual(['confirmed'])
  })

  it('lets a retry with the same key take over', async () => {
    let isAway = true
    const { files, objects } = watchedService({
      storage: (memory) => ({
        ...memory,
        head: (at) => (isAway ? Promise.reject(new Error('timeout')) : memory.head(at)),
      }),
    })
    await rejection(files.put({ scope: OWNER, body, key: 'k' }))
    isAway = false
    const row = await files.put({ scope: OWNER, body, key: 'k' })
    expect(await objects.getScopeUsage(OWNER)).toMatchObject({ files: 1, bytes: size, reservedFiles: 0 })
    expect(row.status).toBe('active')
  })

  it('reports that the attempt could not be ended, and lets it lapse', async () => {
    const { files, objects, clock, s3, reportedBy, expectNothing } = watchedService()
    let isAway = true
    around(
      objects,
      'release',
      (release) => (input) =>
        isAway ? Promise.reject(new StorageError('DATABASE_UNAVAILABLE')) : release(input),
    )
    const error = new Error('reset')
    const failing = iterableOf(bytes(size - 1), { error })
    expect(await rejection(files.put({ scope: OWNER, body: failing.body, size }))).toBe(error)
    expect(await reportedBy('files.put')).toMatchObject([{ code: 'DATABASE_UNAVAILABLE' }])
    isAway = false
    clock.advance(48 * HOUR)
    expect(outcomesOf((await cleanUp(s3)).reservations)).toEqual(['released'])
    clock.advance(48 * HOUR)
    await cleanUp(s3)
    await expectNothing()
  })

  it('succeeds if an earlier try of the write had succeeded', async () => {
    const { files } = watchedService({
      storage: (memory) => ({
        ...memory,
        write: async (input) => (await memory.write!(input)) && memory.write!(input),
      }),
    })
    expect(await files.put({ scope: OWNER, body })).toMatchObject({ size })
  })
})

function startWith(storage: (memory: ObjectStorage) => ObjectStorage) {
  const service = startService({ storage })
  return { ...service, files: service.s3.files }
}
