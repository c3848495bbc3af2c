import { mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { HOUR } from '../../../conformance/clock.js'
import { HELLO } from '../object-storage-contract/bucket-service.js'
import { filesBelow } from '../temporary-folder.js'
import { diskService } from './disk-service.js'
import { watchEveryFile } from './file-handles.js'

const DAY = 24 * HOUR

afterEach(() => vi.restoreAllMocks())

describe('the directory of diskStorage', () => {
  it('has a file for each object, with a description', async () => {
    const { directory, storage, upload, put, attemptId } = diskService()
    await put({ ...upload, key: '../../\u{1F600}' }, HELLO)
    const [object, ...others] = filesBelow(directory)
    expect(object).toMatch(/^objects\/([0-9a-f]{2})\/\1[0-9a-f]{62}$/)
    expect(others).toEqual(['signing-secret'])

    const [bytes, description, end, ...more] = readFileSync(join(directory, object!), 'utf8').split('\n')
    expect([bytes, end, more]).toEqual(['hello', '', []])
    const reference = { bucket: 'files', key: '../../\u{1F600}' }
    const { eTag } = (await storage.head(reference))!
    const expected = { ...reference, size: 5, contentType: 'text/plain', eTag, attemptId }
    expect(JSON.parse(description!)).toEqual(expected)
  })

  it('contains all files of the storage', async () => {
    const { directory, upload, put } = diskService()
    for (const key of ['..', '../outside', '/outside', 'a/../../../outside', '../signing-secret']) {
      expect((await put({ ...upload, key }, HELLO)).status).toBe(200)
    }
    expect(readdirSync(join(directory, '..'))).toEqual(['storage'])
    expect(readdirSync(directory).sort()).toEqual([
      'drafts',
      'objects',
      'removed',
      'signing-secret',
      'uploads',
    ])
  })

  it('contains nothing of removed and refused uploads', async () => {
    const { directory, storage, upload, put } = diskService()
    expect((await put(upload, 'hell')).status).toBe(400)
    expect((await put(upload, 'hello!')).status).toBe(400)
    const broken = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(HELLO.subarray(0, 3)),
      pull: (controller) => controller.error(new Error('reset')),
    })
    expect((await put(upload, broken)).status).toBe(400)
    await put(upload, HELLO)
    await Promise.all([put(upload, HELLO), put(upload, HELLO)])
    await storage.remove(upload)
    expect(filesBelow(directory)).toEqual(['signing-secret'])
  })

  it.skipIf(process.platform === 'win32')(
    'has files that only their owner can read (Windows has no modes)',
    async () => {
      const { directory, upload, put } = diskService()
      await put(upload, HELLO)
      const modes = filesBelow(directory).map((path) => statSync(join(directory, path)).mode & 0o777)
      expect(modes).toEqual([0o600, 0o600])
      expect(readFileSync(join(directory, 'signing-secret'), 'utf8')).toMatch(/^[0-9a-f]{64}\n$/)
    },
  )

  it.skipIf(process.platform === 'win32')(
    'is synced before the response, including file names (Windows does not sync names)',
    async () => {
      const { storage, upload, put } = diskService()
      await storage.signUpload(upload)
      const sync = watchEveryFile('sync')
      await put(upload, HELLO)
      // The folder of all objects, the file, and the folder that contains it.
      expect(sync.calls()).toHaveLength(3)
      sync.forget()
      await storage.remove(upload)
      expect(sync.calls()).toHaveLength(1)
    },
  )

  it('stores bytes that end like a description', async () => {
    const { storage, upload, download, put, get } = diskService()
    const fake = `x\n${JSON.stringify({ ...upload, size: 1, eTag: '"fake"' })}\n`
    await put({ ...upload, size: fake.length }, fake)
    expect(await storage.head(upload)).toMatchObject({ size: fake.length })
    expect(await (await get(download)).text()).toBe(fake)
  })
})

describe('drafts', () => {
  it('are removed after a day without a write', async () => {
    const { directory, storage, upload, put } = diskService()
    await storage.signUpload(upload)
    const drafts = join(directory, 'drafts')
    const fileTime = statSync(join(directory, 'signing-secret')).mtimeMs
    for (const [name, hours] of Object.entries({ old: 25, running: 23, new: 0 })) {
      writeFileSync(join(drafts, name), 'x')
      const written = new Date(fileTime - hours * HOUR)
      utimesSync(join(drafts, name), written, written)
    }
    mkdirSync(join(drafts, 'subfolder'))
    utimesSync(join(drafts, 'subfolder'), 0, 0)

    expect((await put(upload, HELLO)).status).toBe(200)
    await expect.poll(() => readdirSync(drafts).sort()).toEqual(['new', 'running', 'subfolder'])
  })
})

describe('the names of removed objects', () => {
  const removedIn = (directory: string) => filesBelow(join(directory, 'removed'))

  it('have files of their own, and go with the first write after an hour in which their time has ended', async () => {
    const { directory, storage, clock, upload, put } = diskService()
    const at = (key: string) => ({ ...upload, key, expiresAt: clock.in(DAY) })
    await storage.remove({ ...at('short'), writableUntil: clock.in(HOUR) })
    await storage.remove({ ...at('long'), writableUntil: clock.in(3 * HOUR) })
    expect(readdirSync(join(directory, 'drafts'))).toEqual([])
    expect(removedIn(directory)).toHaveLength(2)
    clock.advance(HOUR)
    expect((await put(at('first'), HELLO)).status).toBe(200)
    await expect.poll(() => removedIn(directory)).toHaveLength(1)
    expect((await put(at('long'), HELLO)).status).toBe(409)
    clock.advance(3 * HOUR)
    expect((await put(at('long'), HELLO)).status).toBe(200)
    await expect.poll(() => removedIn(directory)).toEqual([])
  })

  it('are not kept if no URL can write there any more', async () => {
    const { directory, storage, clock, upload } = diskService()
    await storage.remove({ ...upload, writableUntil: clock.now() })
    await storage.remove({ ...upload, writableUntil: null })
    expect(removedIn(directory)).toEqual([])
  })
})
