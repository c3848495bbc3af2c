import type { StorageObject } from '@svc/db'
import { expect, it } from 'vitest'
import { BUCKET, bytesOfSize, startService, type ServiceOptions } from './service.js'

type Write = (context: { readonly object?: StorageObject }) => void

const functions: readonly (readonly [string, (write: Write) => ServiceOptions])[] = [
  ['mayRead', (write) => ({ mayRead: (object) => (write({ object }), true) })],
  ['download.guard', (write) => ({ download: { guard: write } })],
  ['delete.guard', (write) => ({ delete: { guard: write } })],
  ['onReserved', (write) => ({ hooks: { onReserved: write } })],
  ['onActivated', (write) => ({ hooks: { onActivated: write } })],
  ['onDeleted', (write) => ({ hooks: { onDeleted: write } })],
]

it.each(functions)('%s gets a copy of the record that the server goes on with', async (_, optionsOf) => {
  let other: StorageObject | null = null
  const { as, objects } = startService({
    mayRead: () => true,
    ...optionsOf(({ object }) => void (object && other && Object.assign(object, other))),
  })
  const { key } = await as('user:2').upload({}, 1)
  other = await objects.findActive({ bucket: BUCKET, key })

  const own = await as('user:1').upload({}, 2)
  expect(own.key).not.toBe(key)
  for (const scope of ['user:1', 'user:3']) {
    expect(await as(scope).bytes(own.key)).toEqual(bytesOfSize(3, 2))
  }
  expect((await as('user:1').delete(own.key)).status).toBe(204)
  expect(await objects.findActive({ bucket: BUCKET, key: own.key })).toBeNull()
  expect(await as('user:2').bytes(key)).toEqual(bytesOfSize(3, 1))
})
