import { describe, expect, it } from 'vitest'
import { errorOf, startService } from '../service.js'
import { begin, begun, MIB, sign } from './in-parts.js'

const GIB = 1024 * MIB
const TIB = 1024 * GIB

/** File size, part size, and number of parts. Frozen, because uploads are resumed across versions. */
const table = [
  [0, 8 * MIB, 1],
  [1, 8 * MIB, 1],
  [8 * MIB - 1, 8 * MIB, 1],
  [8 * MIB, 8 * MIB, 1],
  [8 * MIB + 1, 8 * MIB, 2],
  [16 * MIB, 8 * MIB, 2],
  [16 * MIB + 1, 8 * MIB, 3],
  [100_000_000, 8 * MIB, 12],
  [5 * GIB, 8 * MIB, 640],
  [80_000 * MIB, 8 * MIB, 10_000],
  [80_000 * MIB + 1, 9 * MIB, 8_889],
  [90_000 * MIB, 9 * MIB, 10_000],
  [90_000 * MIB + 1, 10 * MIB, 9_001],
  [100 * GIB, 11 * MIB, 9_310],
  [TIB, 105 * MIB, 9_987],
  [5 * TIB - 1, 525 * MIB, 9_987],
  [5 * TIB, 525 * MIB, 9_987],
] as const

describe('the part size', () => {
  it.each(table)('of a file of %d bytes is %d, with %d parts', async (size, partSize, count) => {
    const caller = startService().as('user:1')
    const parts = await begun(caller, { size })
    expect(parts.partSize).toBe(partSize)
    expect((await sign(caller, parts, [count])).status).toBe(200)
    expect(await errorOf(await sign(caller, parts, [1, count + 1]))).toMatchObject({
      code: 'VALIDATION_ERROR',
      status: 400,
      params: { field: 'partNumbers' },
    })
  })

  it('is within the limits of S3 for every file size', async () => {
    const caller = startService().as('user:1')
    for (let size = 1; size <= 5 * TIB; size = Math.ceil(size * 1.37)) {
      const { partSize } = await begun(caller, { size })
      expect(partSize).toBeGreaterThanOrEqual(5 * MIB)
      expect(partSize).toBeLessThanOrEqual(5 * GIB)
      expect(Math.ceil(size / partSize)).toBeLessThanOrEqual(10_000)
    }
  })

  it('is defined up to 5 TiB, and larger files are refused before the reservation', async () => {
    const { as, objects } = startService()
    expect(await errorOf(await begin(as('user:1'), { size: 5 * TIB + 1 }))).toMatchObject({
      status: 413,
      code: 'FILE_TOO_LARGE',
      params: { max: 5 * TIB, size: 5 * TIB + 1 },
    })
    expect(await objects.countByScope('user:1')).toBe(0)
    expect(await objects.listLeftovers()).toEqual([])
  })
})
