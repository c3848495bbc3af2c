import { cleanUp } from '@svc/db'
import { expect } from 'vitest'
import { bytesOfSize, errorOf } from '../service.js'
import { arrived, DAY, KEY, olderVersion, OWNER, uploads, verdictOn, type CheckedService } from './checked.js'

/**
 * Rejects and accepts uploads to a service with the routes of checked uploads. On every storage, only the scanner can read bytes that wait,
 * and only accepted bytes are left in the end.
 */
export async function decideUploads(service: CheckedService): Promise<void> {
  const { s3, clock, objects, storage } = service
  const owner = service.as(OWNER)
  let visible = bytesOfSize(3, 9)
  await olderVersion(service, 9)
  for (const [index, upload] of uploads.entries()) {
    for (const verdict of ['reject', 'accept'] as const) {
      const fill = 2 * index + (verdict === 'accept' ? 2 : 1)
      const { row, attempt } = await arrived(service, { upload, fill })
      expect(await owner.bytes(KEY)).toEqual(visible)
      const { body } = await s3.files.get({ ...verdictOn(row), bucket: row.bucket, arrived: true })
      expect(new Uint8Array(await new Response(body).arrayBuffer())).toEqual(bytesOfSize(3, fill))
      await s3.files[verdict]({ ...verdictOn(row), bucket: row.bucket })
      if (verdict === 'accept') visible = bytesOfSize(3, fill)
      else {
        // Where a late PUT could still write, an empty object keeps it out.
        const left = await storage.head({ bucket: row.bucket, key: row.storageKey! })
        expect(left?.size ?? 0).toBe(0)
        expect(await errorOf(await upload.finish(owner, attempt))).toMatchObject({ code: 'UPLOAD_REJECTED' })
      }
      expect(await owner.bytes(KEY)).toEqual(visible)
    }
  }
  for (let runs = 0; runs < 2; runs++) {
    clock.advance(DAY)
    await cleanUp(s3)
  }
  const [active] = (await objects.listByScope({ scope: OWNER })).objects
  const stored = await storage.list!({ bucket: active!.bucket, limit: 100 })
  expect(stored.items.map(({ key }) => key)).toEqual([active!.storageKey])
  expect(await objects.listLeftovers()).toEqual([])
  expect(await objects.checkUsage()).toEqual([])
  expect(service.reported).toEqual([])
}
