import { readFileSync, readdirSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import type { ObjectStorage } from '@svc/db'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { HOUR } from '../../../conformance/clock.js'
import { filesBelow } from '../temporary-folder.js'
import { diskService } from './disk-service.js'
import { buildStorageProgram, type StorageProgram } from './storage-process.js'
import type { WorkerMessage } from './storage-worker.js'

const CHUNK = 64 * 1024

let program: StorageProgram
beforeAll(async () => {
  program = await buildStorageProgram()
})
afterAll(() => program.remove())

describe('several processes with one directory', () => {
  it('agree on the secret, and on which upload was first', async () => {
    const service = diskService()
    const { directory, clock, handler } = service
    const keys = Array.from({ length: 12 }, (_, number) => `key ${number}`)
    const contents = ['first', 'second', 'third']
    const racers = contents.map((content) =>
      program.start({ kind: 'race', directory, time: clock.time, keys, content }),
    )
    await Promise.all(racers.map((racer) => racer.messages(1)))
    racers.forEach((racer) => racer.proceed())
    const ends = (await Promise.all(racers.map((racer) => racer.messages(2)))).map(([, end]) => racedOf(end))

    for (const [at, key] of keys.entries()) {
      const statuses = ends.map((end) => end.statuses[at])
      expect([...statuses].sort(), key).toEqual([200, 409, 409])
      const winner = contents[statuses.indexOf(200)]
      for (const { downloads } of ends) {
        expect(await (await handler(new Request(downloads[at]!))).text()).toBe(winner)
      }
    }
    expect(filesBelow(directory)).toHaveLength(keys.length + 1)
  })

  function racedOf(message: WorkerMessage | undefined) {
    if (message?.event !== 'raced') throw new Error('The process has sent an unexpected message.')
    return message
  }
})

describe('a process that is killed', () => {
  it('during an upload leaves nothing visible, and the URL can be used again', async () => {
    const { directory, clock, handler, storage, upload, put } = diskService()
    const size = 10 * CHUNK
    const signed = await storage.signUpload({ ...upload, size })
    const task = { kind: 'stall', directory, time: clock.time, upload: signed, chunks: 3 } as const
    const doomed = program.start(task)
    await doomed.messages(1)
    await doomed.kill()

    const [draft, ...others] = readdirSync(join(directory, 'drafts'))
    expect(others).toEqual([])
    expect(statSync(join(directory, 'drafts', draft!)).size).toBe(3 * CHUNK)
    expect(await storage.head(upload)).toBeNull()

    const again = new Request(signed.url, { ...signed, body: new Uint8Array(size) })
    expect((await handler(again)).status).toBe(200)
    expect(await storage.head(upload)).toMatchObject({ size })
    expect(readdirSync(join(directory, 'drafts'))).toEqual([draft])

    const old = new Date(statSync(join(directory, 'signing-secret')).mtimeMs - 25 * HOUR)
    utimesSync(join(directory, 'drafts', draft!), old, old)
    expect((await put({ ...upload, key: 'other' }, 'hello')).status).toBe(200)
    expect(readdirSync(join(directory, 'drafts'))).toEqual([])
  })

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
