import { describe, expect, it } from 'vitest'
import type {
  AdoptInput,
  FindByIdInput,
  ListScopesInput,
  ListStoredInput,
  TransferInput,
  UpdateInput,
} from '@svc/db'
import { isAttemptId } from '../../../../src/core/store/attempt-id.js'
import { idNumber } from '../rows.js'
import { afterNoon, NOON } from '../settable-clock.js'
import { describeInput, inputOf } from './driver-inputs.js'

const REFERENCE = { bucket: 'photos', key: 'a.png' }
const UNLIMITED = { maxBytes: null, maxFiles: null }
const QUOTA = { maxBytes: 1000, maxFiles: 10 }

describeInput<UpdateInput>('update', (store, input) => store.update(input), {
  least: { ...REFERENCE, filename: 'a' },
  nulls: { ...REFERENCE, filename: 'a', scope: null, attemptId: null },
  leastResolved: { ...REFERENCE, scope: null, attemptId: null, changes: { filename: 'a' }, now: NOON },
  most: {
    ...REFERENCE,
    scope: 'user:1',
    attemptId: idNumber(1),
    filename: 'a',
    contentType: 'image/png',
    metadata: { width: '5' },
  },
  mostResolved: {
    ...REFERENCE,
    scope: 'user:1',
    attemptId: idNumber(1),
    changes: { filename: 'a', contentType: 'image/png', metadata: { width: '5' } },
    now: NOON,
  },
})

describe('the driver input of update', () => {
  it.each([
    [{ filename: null }, { filename: null }],
    [{ contentType: null, filename: undefined }, { contentType: null }],
    [{ metadata: null, contentType: undefined }, { metadata: null }],
    [{ metadata: {} }, { metadata: {} }],
  ] as const)(
    'clears fields that are null and leaves out those that are undefined: %o',
    async (given, changes) => {
      const input: unknown = await inputOf((store) => store.update({ ...REFERENCE, ...given }))
      expect((input as { changes: unknown }).changes).toStrictEqual(changes)
    },
  )

  it('has a copy of the metadata', async () => {
    const metadata = { a: 'b' }
    const input = await inputOf((store) => store.update({ ...REFERENCE, metadata }))
    metadata.a = 'changed'
    expect(input).toMatchObject({ changes: { metadata: { a: 'b' } } })
  })
})

describeInput<TransferInput>('transfer', (store, input) => store.transfer(input), {
  least: { ...REFERENCE, from: 'user:1', to: 'user:2' },
  nulls: { ...REFERENCE, from: 'user:1', to: 'user:2', attemptId: null, quota: null },
  leastResolved: {
    ...REFERENCE,
    from: 'user:1',
    to: 'user:2',
    attemptId: null,
    quota: UNLIMITED,
    now: NOON,
  },
  most: { ...REFERENCE, from: 'user:1', to: 'user:2', attemptId: idNumber(1), quota: QUOTA },
  mostResolved: {
    ...REFERENCE,
    from: 'user:1',
    to: 'user:2',
    attemptId: idNumber(1),
    quota: QUOTA,
    now: NOON,
  },
})

const adoption = { ...REFERENCE, scope: 'user:1', storageKey: 'stored', size: 5, createdAt: afterNoon(-1000) }
const unknown = { eTag: null, route: null, filename: null, contentType: null, metadata: null }
const known = {
  eTag: 'etag',
  route: 'avatars',
  filename: 'me.png',
  contentType: 'image/png',
  metadata: { width: '5' },
}
const newId = expect.stringMatching(/^[0-9a-f-]{36}$/) as string

describeInput<AdoptInput>('adopt', (store, input) => store.adopt(input), {
  least: adoption,
  nulls: { ...adoption, ...unknown },
  leastResolved: { ...adoption, ...unknown, id: newId, now: NOON },
  most: { ...adoption, ...known },
  mostResolved: { ...adoption, ...known, id: newId, now: NOON },
})

describe('the driver input of adopt', () => {
  const idOf = async (createdAt: Date) => {
    const input = await inputOf((store) => store.adopt({ ...adoption, createdAt }))
    return (input as { id: string }).id
  }
  const timeOf = (id: string) => parseInt(id.replaceAll('-', '').slice(0, 12), 16)

  it('has a new id that carries createdAt', async () => {
    const ids = [await idOf(adoption.createdAt), await idOf(adoption.createdAt)]
    expect(ids.every(isAttemptId)).toBe(true)
    expect(ids.map(timeOf)).toEqual([adoption.createdAt.getTime(), adoption.createdAt.getTime()])
    expect(ids[0]).not.toBe(ids[1])
  })

  it('has an id of 1970 for bytes that are older', async () => {
    expect(timeOf(await idOf(new Date('1969-12-31T23:59:59.000Z')))).toBe(0)
  })

  it('has copies of the date and the metadata', async () => {
    const createdAt = new Date(NOON)
    const metadata = { a: 'b' }
    const input = await inputOf((store) => store.adopt({ ...adoption, createdAt, metadata }))
    createdAt.setTime(0)
    metadata.a = 'changed'
    expect(input).toMatchObject({ createdAt: NOON, metadata: { a: 'b' } })
  })
})

describeInput<FindByIdInput>('findById', (store, input) => store.findById(input), {
  least: { id: idNumber(1) },
  nulls: { id: idNumber(1), scope: null },
  leastResolved: { id: idNumber(1), scope: null },
  most: { id: idNumber(1), scope: 'user:1' },
  mostResolved: { id: idNumber(1), scope: 'user:1' },
})

describeInput<ListScopesInput | undefined>('listScopes', (store, input) => store.listScopes(input), {
  least: undefined,
  nulls: { limit: null, after: null },
  leastResolved: { limit: 100, after: null },
  most: { limit: 1000, after: 'user:1' },
  mostResolved: { limit: 1000, after: 'user:1' },
})

describeInput<ListStoredInput>('listStored', (store, input) => store.listStored(input), {
  least: { bucket: 'photos' },
  nulls: { bucket: 'photos', prefix: null, after: null, limit: null },
  leastResolved: { bucket: 'photos', prefix: null, after: null, limit: 100 },
  most: { bucket: 'photos', prefix: 'stored/', after: 'stored/a', limit: 1000 },
  mostResolved: { bucket: 'photos', prefix: 'stored/', after: 'stored/a', limit: 1000 },
})
