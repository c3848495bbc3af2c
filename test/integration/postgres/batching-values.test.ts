import { createAttemptId, type StorageObjectStore } from '@svc/db'
import { expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { describePostgres, dropSchema, freshSchema, poolOf } from './schemas.js'

const SCOPE = 'it\'s "a" \\scope\\ {} 🦊'
const EARLY = new Date('0001-01-01T00:00:00.001Z')
const LATE = new Date('9999-12-31T23:59:59.999Z')
const now = () => EARLY

const ODD_TEXTS = [
  '\ufeffbyte order mark',
  '"quoted", \'quoted\' and \\escaped\\',
  '{"a":[1,null]}',
  'null',
  '\u0001\t\r\n\u2028\u007f',
  'e\u0301 is not \u00e9',
  '🦊\u{10ffff}',
  ' ',
]
const METADATA = JSON.parse(
  '{"z":"1","__proto__":"2","":"","a.b":"\\ufeff","$set":"\\"","1":"one"}',
) as Record<string, string>

/** Calls with different values, each on its own key. */
const attempts = ODD_TEXTS.map((text, i) => ({
  id: createAttemptId(),
  scope: SCOPE,
  bucket: text,
  key: `${i} ${text}`,
  declaredSize: i === 0 ? 0 : 2 ** 40 + i,
  expiresAt: LATE,
  route: i % 2 ? text : null,
  filename: text,
  contentType: i % 3 ? text : null,
  metadata: i % 2 ? METADATA : null,
  storageKey: i % 2 ? null : text,
  uploadId: i % 3 ? null : text,
  quota: i % 2 ? { maxBytes: Number.MAX_SAFE_INTEGER } : null,
}))
const confirms = attempts.map(({ id, bucket, key }, i) => ({
  id,
  scope: SCOPE,
  bucket,
  key,
  size: i * 3,
  eTag: i % 2 ? bucket : null,
  contentType: i % 3 ? null : bucket,
}))

/** Makes the calls one after the other in one store and concurrently in another, and compares the results. */
async function expectSameResults(sequential: StorageObjectStore, batched: StorageObjectStore): Promise<void> {
  for (const store of [sequential, batched]) await store.migrate()
  const rows = []
  for (const attempt of attempts) rows.push(await sequential.reserve(attempt))
  expect(await Promise.all(attempts.map((attempt) => batched.reserve(attempt)))).toEqual(rows)
  const objects = []
  for (const confirm of confirms) objects.push(await sequential.confirm(confirm))
  expect(await Promise.all(confirms.map((confirm) => batched.confirm(confirm)))).toEqual(objects)
  for (const [i, object] of objects.entries()) {
    const found = await batched.findActive(object)
    expect(found).toEqual(object)
    expect(Object.entries(found?.metadata ?? {})).toEqual(Object.entries(attempts[i]!.metadata ?? {}))
  }
  expect(await batched.getScopeUsage(SCOPE)).toEqual(await sequential.getScopeUsage(SCOPE))
  expect(await batched.checkUsage()).toEqual([])
}

describePostgres('a batch on a server returns the same as single calls', (url) => {
  const settings = ['TimeZone=Asia/Kathmandu', 'DateStyle=SQL,DMY', 'extra_float_digits=-15']

  it.each([{ named: true }, { named: false }])(
    'for all values and session settings, %o',
    async ({ named }) => {
      const pool = poolOf(url)
      const configured = poolOf(url, { options: settings.map((setting) => `-c ${setting}`).join(' ') })
      const [one, other] = [freshSchema(), freshSchema()]
      await expectSameResults(
        postgresAdapter(pool, { schema: one, now, namedStatements: named }),
        postgresAdapter(configured, { schema: other, now, namedStatements: named }),
      )
      for (const schema of [one, other]) await dropSchema(pool, schema)
      await pool.end()
      await configured.end()
    },
  )
})
