import { describe, expect, it } from 'vitest'
import { COMPLETE, ONE_PUT, PUT, START } from '../../unit/client/upload-in-parts/request-lines.js'
import { startUploads } from '../../unit/client/upload-in-parts/faulty-uploads.js'
import { begun, MIB, sign } from '../../unit/server/multipart/in-parts.js'
import { errorOf, startService } from '../../unit/server/service.js'

const TIB = 1024 ** 2 * MIB

// The unit tests have smaller sizes.
describe('the sizes of uploads in parts', () => {
  it('are 16 MiB and more for the client', async () => {
    const uploads = startUploads()
    const bytes = new Uint8Array(16 * MIB).map((_, index) => index >> 16)
    expect(await uploads.api.upload(new Blob([bytes.subarray(1)]))).toMatchObject({ size: 16 * MIB - 1 })
    expect([ONE_PUT, START].map(uploads.count)).toEqual([1, 0])
    uploads.log.length = 0
    const object = await uploads.api.upload(new Blob([bytes]))
    expect([START, PUT, COMPLETE].map(uploads.count)).toEqual([1, 2, 1])
    expect(Buffer.from(await uploads.bytesOf(object)).equals(bytes)).toBe(true)
  })

  // Frozen, because uploads are resumed across versions.
  it.each([
    [1, 8 * MIB, 1],
    [8 * MIB, 8 * MIB, 1],
    [8 * MIB + 1, 8 * MIB, 2],
    [100_000_000, 8 * MIB, 12],
    [80_000 * MIB, 8 * MIB, 10_000],
    [80_000 * MIB + 1, 9 * MIB, 8_889],
    [90_000 * MIB + 1, 10 * MIB, 9_001],
    [TIB, 105 * MIB, 9_987],
    [5 * TIB, 525 * MIB, 9_987],
  ])('divide a file of %d bytes into parts of %d bytes: %d of them', async (size, partSize, count) => {
    const caller = startService().as('user:1')
    const parts = await begun(caller, { size })
    expect(parts.partSize).toBe(partSize)
    expect((await sign(caller, parts, [count])).status).toBe(200)
    const params = { field: 'partNumbers' }
    expect(await errorOf(await sign(caller, parts, [1, count + 1]))).toMatchObject({ status: 400, params })
  })
})
