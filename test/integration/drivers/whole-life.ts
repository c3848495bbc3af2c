import type { StorageObjectStore } from '@svc/db'
import { expect } from 'vitest'

const EARLY = new Date('0001-01-01T00:00:00.001Z')
const LATE = new Date('9999-12-31T23:59:59.999Z')
const TEXTS = [
  '\ufeffbyte order mark',
  '"quoted", \'quoted\' and \\escaped\\, {a,NULL}',
  '{"a":[1,null]}',
  'null',
  '\u0001\t\r\n\u2028\u007f',
  'e\u0301 is not \u00e9',
  '🦊\u{10ffff}',
  '$pending.filename',
]
const METADATA = JSON.parse(
  '{"z":"1","$set":"$secret","a.b":"$$ROOT","__proto__":"2","":"\\"\\\\","$":"{\\"b\\":[1]}","constructor":"4",' +
    '"camelCase":"snake_case","snake_case":"1","1":"one","\\ufeff":"\\u0001"}',
) as Record<string, string>

/**
 * Takes objects through their whole life, with values that the settings of a driver or a session could corrupt. Reads them back
 * over the reader, too.
 */
export async function expectWholeLife(
  open: (now?: () => Date) => StorageObjectStore,
  reader: StorageObjectStore = open(),
  scope = 'it\'s "a" \\$scope\\ {} 🦊',
): Promise<void> {
  const store = open(() => EARLY)
  await store.migrate()
  expect(await store.verify()).toEqual([])

  const inputs = TEXTS.map((text, i) => ({
    ...{ scope, bucket: text, key: `${scope}/${text}`, storageKey: `bytes of ${scope}/${text}` },
    ...{
      declaredSize: i === 0 ? 2 ** 52 + 1 : 2 ** 31 + i,
      expiresAt: LATE,
      metadata: i % 3 ? METADATA : null,
    },
    ...{ route: text, filename: 'null', contentType: text, uploadId: i % 2 ? text : null },
  }))
  // Most share a batch.
  const rows = await Promise.all(inputs.map((input) => store.reserve(input)))
  for (const [i, row] of rows.entries()) {
    expect(row).toMatchObject({ ...inputs[i], createdAt: EARLY, updatedAt: EARLY, confirmedAt: null })
    expect(await reader.find(row)).toEqual(row)
  }
  const sum = inputs.reduce((total, { declaredSize }) => total + declaredSize, 0)
  const nothing = { bytes: 0, files: 0, reservedBytes: 0, reservedFiles: 0 }
  expect(await store.getScopeUsage(scope)).toEqual({
    ...nothing,
    reservedBytes: sum,
    reservedFiles: rows.length,
  })
  expect(await store.listExpired({ scope })).toEqual([])
  expect(await open(() => LATE).listExpired({ scope })).toHaveLength(rows.length)

  const objects = await Promise.all(
    rows.map(({ bucket, key, id, declaredSize }, i) =>
      store.confirm({ bucket, key, id, scope: i % 2 ? scope : null, size: declaredSize!, eTag: '"$eTag"' }),
    ),
  )
  for (const [i, object] of objects.entries()) {
    expect(object).toMatchObject({ status: 'active', eTag: '"$eTag"', confirmedAt: EARLY })
    expect(Object.entries(object.metadata ?? {})).toEqual(Object.entries(inputs[i]!.metadata ?? {}))
    expect(await reader.findActive(object)).toEqual(object)
  }
  const listed = objects.toSorted((a, b) => (a.id < b.id ? 1 : -1))
  expect((await store.listByScope({ scope })).objects).toEqual(listed)
  expect(await store.getScopeUsage(scope)).toEqual({ ...nothing, bytes: sum, files: rows.length })

  const [first, second, third] = objects
  const removed = await store.remove({ ...first!, scope })
  expect(await store.find(first!)).toEqual(removed)
  expect((await store.listByScope({ scope, status: 'deleted' })).objects).toEqual([removed])
  await store.remove({ bucket: second!.bucket, key: second!.key, mode: 'hard' })
  const again = await store.reserve({ ...inputs[2]!, storageKey: `other ${scope}` })
  expect(await store.release({ ...third!, id: again.id })).toEqual(again)
  const leftovers = await store.listLeftovers({ scope })
  expect(leftovers).toHaveLength(3)
  for (const leftover of leftovers) {
    expect(leftover).toMatchObject({ since: EARLY, writableUntil: LATE })
    expect(await store.forgetLeftover(leftover)).toBe(true)
    expect(await store.forgetLeftover(leftover)).toBe(false)
  }
  expect(await store.countByScope(scope, 'deleted')).toBe(1)
  expect(await store.purgeDeleted({ scope, before: LATE })).toBe(1)
  expect(await store.countByScope(scope)).toBe(rows.length - 2)
  expect(await store.checkUsage(scope)).toEqual([])
}
