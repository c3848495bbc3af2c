import { describe, expect, it } from 'vitest'
import { toClientObject } from '../../../src/core/store/records.js'
import { activeRow, deletedRow, idNumber, pendingRow } from './rows.js'
import { afterNoon, NOON } from './settable-clock.js'

const EVERYTHING = {
  attemptId: idNumber(9),
  route: 'avatars',
  filename: 'me.png',
  contentType: 'image/png',
  eTag: 'etag',
  metadata: { secret: 'value' },
  storageKey: 'stored/1',
}

describe('the client record', () => {
  it('of an active object has its known fields and no internal ones', () => {
    expect(toClientObject(activeRow({ ...EVERYTHING, size: 0 }))).toStrictEqual({
      id: idNumber(1),
      bucket: 'photos',
      key: 'a.png',
      status: 'active',
      createdAt: '2026-03-01T12:00:00.000Z',
      filename: 'me.png',
      contentType: 'image/png',
      size: 0,
      route: 'avatars',
    })
  })

  it('of a pending object has the declared size and no upload id or expiry', () => {
    const row = pendingRow({ ...EVERYTHING, uploadId: 'upload', expiresAt: afterNoon(1), declaredSize: 0 })
    expect(toClientObject(row)).toStrictEqual({
      id: idNumber(2),
      bucket: 'photos',
      key: 'a.png',
      status: 'pending',
      createdAt: NOON.toISOString(),
      filename: 'me.png',
      contentType: 'image/png',
      declaredSize: 0,
      route: 'avatars',
    })
  })

  it('omits unknown fields', () => {
    const row = { ...deletedRow(), size: null }
    expect(Object.keys(toClientObject(row)).sort()).toEqual(['bucket', 'createdAt', 'id', 'key', 'status'])
  })
})
