import { StorageError } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { startService } from './service.js'

describe('hooks', () => {
  it('receive the records and the request after the database write', async () => {
    const events: unknown[] = []
    const record =
      (name: string) =>
      async ({ object, request }: { object: { bucket: string; key: string }; request?: Request }) => {
        const row = await service.objects.find(object)
        events.push([name, row, new URL(request!.url).pathname])
        expect(object).toEqual(row)
      }
    const service = startService({
      hooks: {
        onReserved: record('reserved'),
        onActivated: record('activated'),
        onDeleted: record('deleted'),
      },
    })
    const object = await service.as('user:1').upload()
    await service.as('user:1').delete(object.key)
    expect(events).toEqual([
      ['reserved', expect.objectContaining({ status: 'pending', scope: 'user:1' }), '/api/s3/upload'],
      ['activated', expect.objectContaining({ status: 'active' }), '/api/s3/upload/confirm'],
      ['deleted', expect.objectContaining({ status: 'deleted' }), '/api/s3/object'],
    ])
  })

  it.each([
    ['an error', new Error('mail server down')],
    ['a StorageError', new StorageError('FORBIDDEN')],
  ])('do not affect the response if they throw %s', async (_, thrown) => {
    const fail = () => Promise.reject(thrown)
    const { as, reported } = startService({ hooks: { onReserved: fail, onActivated: fail, onDeleted: fail } })
    const object = await as('user:1').upload()
    expect((await as('user:1').delete(object.key)).status).toBe(204)
    expect(reported.map(({ error, operation }) => [error, operation])).toEqual([
      [thrown, 'onReserved'],
      [thrown, 'onActivated'],
      [thrown, 'onDeleted'],
    ])
  })
})
