import { memoryAdapter } from '@svc/db/memory'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { diskStorage } from '@svc/db/disk'
import { MINUTE, ManualClock } from '../../../conformance/clock.js'
import { bytesOfSize, expectStatus, fetchBytes, startService } from '../../server/service.js'
import { HELLO } from '../object-storage-contract/bucket-service.js'
import { temporaryFolder } from '../temporary-folder.js'
import { diskService } from './disk-service.js'

describe('after a restart, diskStorage', () => {
  it('serves its earlier URLs until they expire', async () => {
    const before = diskService()
    const written = await before.storage.signUpload(before.upload)
    const { url: read } = await before.storage.signDownload(before.download)

    const after = diskService(before.directory)
    const put = () => after.handler(new Request(written.url, { ...written, body: HELLO }))
    expect((await put()).status).toBe(200)
    expect((await put()).status).toBe(409)
    expect(await (await after.handler(new Request(read))).text()).toBe('hello')
    after.clock.advance(MINUTE)
    expect((await after.handler(new Request(read))).status).toBe(403)
  })

  it('lets a server continue its uploads', async () => {
    const directory = join(temporaryFolder(), 'storage')
    const clock = new ManualClock()
    const objects = memoryAdapter({ now: clock.now })
    const start = () =>
      startService({ clock, objects, storage: () => diskStorage({ directory, now: clock.now }) })

    const user = start().as('user:1')
    const deleted = await user.begun()
    await expectStatus(await user.put(deleted.upload, bytesOfSize(3)), 200)
    await expectStatus(await user.confirm(deleted.object), 200)
    await expectStatus(await user.delete(deleted.object.key), 204)
    const [begun, sent, done] = [await user.begun(), await user.begun(), await user.upload({ size: 3 }, 1)]
    await expectStatus(await user.put(sent.upload, bytesOfSize(3, 2)), 200)
    const { url } = (await expectStatus(await user.download(done.key), 200)) as { url: string }

    const service = start()
    const again = service.as('user:1')
    expect(await fetchBytes(again, url)).toEqual(bytesOfSize(3, 1))
    await expectStatus(await again.confirm(sent.object), 200)
    expect(await again.bytes(sent.object.key)).toEqual(bytesOfSize(3, 2))
    await expectStatus(await again.put(begun.upload, bytesOfSize(3, 3)), 200)
    await expectStatus(await again.confirm(begun.object), 200)
    expect(await again.bytes(begun.object.key)).toEqual(bytesOfSize(3, 3))
    expect((await again.put(deleted.upload, bytesOfSize(3))).status).toBe(409)
    expect(service.reported).toEqual([])
  })
})
