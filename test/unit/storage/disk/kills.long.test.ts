import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ObjectStorage } from '@svc/db'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { filesBelow } from '../temporary-folder.js'
import { diskService } from './disk-service.js'
import { buildStorageProgram, type StorageProgram } from './storage-process.js'

let program: StorageProgram
beforeAll(async () => {
  program = await buildStorageProgram()
})
afterAll(() => program.remove())

describe('a process that is killed', () => {
  it.each(['fill', 'fill-in-parts'] as const)(
    'at any time has stored what it confirmed, and nothing in part: %s',
    async (kind) => {
      const { directory, clock, storage, download, get } = diskService()
      const doomed = program.start({ kind, directory, time: clock.time, callers: 4 })
      await doomed.messages(10)
      const stored = (await doomed.kill()).filter((message) => message.event === 'stored')

      for (const { key, content } of stored) {
        expect(await (await get({ ...download, key })).text()).toBe(content)
      }
      const objects = filesBelow(join(directory, 'objects'))
      expect(objects.length).toBeGreaterThanOrEqual(stored.length)
      for (const path of objects) {
        const line = readFileSync(join(directory, 'objects', path), 'utf8')
          .trimEnd()
          .split('\n')
          .at(-1)!
        const { key } = JSON.parse(line) as { key: string }
        const content = `content of ${key};`.repeat(2000)
        expect(await storage.head({ bucket: 'files', key })).toMatchObject({ size: content.length })
        expect(await (await get({ ...download, key })).text()).toBe(content)
      }
      await expectUploadsEnd(directory, storage)
    },
  )

  /** Expects every open multipart upload to be listable and abortable, with nothing left afterwards. */
  async function expectUploadsEnd(directory: string, storage: ObjectStorage): Promise<void> {
    const { multipart } = storage
    const uploads = join(directory, 'uploads')
    const descriptions = filesBelow(uploads).filter((path) => path.endsWith('.upload'))
    for (const path of descriptions) {
      const { key } = JSON.parse(readFileSync(join(uploads, path), 'utf8')) as { key: string }
      const at = { bucket: 'files', key, uploadId: path.split('.').at(-2)! }
      const completed = (await storage.head(at)) !== null
      expect(await multipart!.list(at)).toEqual(completed ? [] : [at.uploadId])
      const listed = await multipart!.listParts({ ...at, after: 0 })
      expect(listed === null).toBe(completed)
      await multipart!.abort(at)
    }
    expect(filesBelow(uploads)).toEqual([])
  }
})
