import { createAttemptId, type DeletedEvent } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { OWNER, watchedService } from './watched-service.js'

const at = { bucket: 'files', key: 'a/b' }

async function withFile(options: Parameters<typeof watchedService>[0] = {}) {
  const events: DeletedEvent[] = []
  const service = watchedService({
    routes: { docs: { key: () => 'a/b', overwrite: true } },
    hooks: { onDeleted: (event) => void events.push(event) },
    ...options,
  })
  const row = await service.files.put({ scope: OWNER, body: 'hello', key: 'a/b' })
  return { ...service, row, events }
}

describe('files.delete', () => {
  it('removes the object and its bytes, and calls the hook without a request', async () => {
    const { files, events, objects, row, storage } = await withFile()
    const removed = await files.delete({ key: 'a/b' })
    expect(removed).toMatchObject({ id: row.id, status: 'deleted' })
    expect(events).toEqual([{ object: removed }])
    expect(await objects.findActive(at)).toBeNull()
    expect(await storage.head({ bucket: 'files', key: row.storageKey! })).toBeNull()
    expect(await files.delete({ key: 'a/b' })).toBeNull()
    expect(events).toHaveLength(1)
  })

  it.each([
    ['soft', null, 1],
    ['hard', null, 0],
    ['soft', 'hard', 0],
    ['hard', 'soft', 1],
  ] as const)('with deleteMode %s and mode %s keeps %d rows', async (deleteMode, mode, rows) => {
    const { files, objects } = await withFile({ deleteMode })
    await files.delete({ key: 'a/b', mode })
    expect(await objects.countByScope(OWNER, 'deleted')).toBe(rows)
  })

  it('removes only an object of this scope and attempt', async () => {
    const { files, row, objects } = await withFile()
    const others = [
      { key: 'a/b', scope: 'user:2' },
      { key: 'a/b', attemptId: createAttemptId() },
      { key: 'a/b', bucket: 'other' },
      { key: 'other' },
    ]
    for (const input of others) expect(await files.delete(input)).toBeNull()
    expect(await objects.findActive(at)).toEqual(row)
    expect(await files.delete({ key: 'a/b', scope: OWNER, attemptId: row.attemptId })).not.toBeNull()
  })

  it('removes only the pending row whose attempt it names', async () => {
    const { files, row, objects, as, events } = await withFile()
    const { object } = await as(OWNER).begun()
    expect(await files.delete({ key: 'a/b', attemptId: object.id })).toMatchObject({ status: 'pending' })
    expect(await objects.findPending(at)).toBeNull()
    expect(await objects.findActive(at)).toEqual(row)
    expect(events).toEqual([])
  })

  it('resolves and reports if the bytes can not be removed', async () => {
    const { files, reportedBy } = await withFile({
      storage: (memory) => ({ ...memory, remove: () => Promise.reject(new Error('refused')) }),
    })
    expect(await files.delete({ key: 'a/b' })).toMatchObject({ status: 'deleted' })
    expect(await reportedBy('files.delete')).toMatchObject([{ code: 'STORAGE_UNAVAILABLE' }])
  })

  it.each(Object.entries({ key: '', bucket: '', scope: '', attemptId: 'x', mode: 'both' }))(
    'refuses the %s %j',
    async (field, value) => {
      const { files } = await withFile()
      await expect(files.delete({ key: 'a/b', [field]: value })).rejects.toMatchObject({
        code: 'VALIDATION_ERROR',
        params: { field },
      })
    },
  )
})
