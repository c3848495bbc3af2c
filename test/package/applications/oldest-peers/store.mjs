// Lets a store keep a quota among concurrent writers. Arguments: the driver, and the URL of its server.
import assert from 'node:assert/strict'
import { StorageError } from '@svc/db'
import { openDriver } from './drivers.mjs'

const [name, url] = process.argv.slice(2)
const { createStore, end } = await openDriver(name, url)
try {
  const store = await createStore({ now: () => new Date() })
  const scope = 'user:ann'
  const at = (key) => ({ scope, bucket: 'files', key })
  const reserve = (key) =>
    store.reserve({
      ...at(key),
      declaredSize: 5,
      expiresAt: new Date(Date.now() + 60_000),
      quota: { maxBytes: 10 },
    })

  const { id } = await reserve('a')
  await store.confirm({ ...at('a'), attemptId: id, size: 5, eTag: '"5d"' })
  const settled = await Promise.allSettled(['b', 'c', 'd', 'e'].map(reserve))
  const refusals = settled.filter(({ status }) => status === 'rejected').map(({ reason }) => reason)
  assert.equal(refusals.length, 3)
  for (const error of refusals) {
    assert.ok(error instanceof StorageError)
    assert.equal(error.code, 'QUOTA_EXCEEDED')
  }
  assert.equal((await store.find(at('a'))).size, 5)
  await store.remove(at('a'))
  assert.equal((await store.getScopeUsage(scope)).bytes, 0)
  console.log('kept')
} finally {
  await end()
}
