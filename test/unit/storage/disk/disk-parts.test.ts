import { cpSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { MINUTE } from '../../../conformance/clock.js'
import { codeOf, SERVER_URL } from '../object-storage-contract/bucket-service.js'
import { filesBelow } from '../temporary-folder.js'
import { diskService } from './disk-service.js'
import { onEveryFile, refusal, watchEveryFile } from './file-handles.js'

afterEach(() => vi.restoreAllMocks())

/** Creates an upload with two parts, `hel` and `lo`. */
async function uploadOf(service = diskService(), key = 'a/b') {
  const { directory, storage, handler, clock, attemptId } = service
  const multipart = storage.multipart!
  const at = { bucket: 'files', key }
  const { uploadId } = await multipart.create({ ...at, contentType: 'text/plain', attemptId })
  const upload = { ...at, uploadId }
  const sign = async (partNumber: number, size: number) => {
    const expiresAt = clock.in(MINUTE)
    return (await multipart.signPart({ ...upload, partNumber, size, expiresAt, serverURL: SERVER_URL })).url
  }
  const put = async (partNumber: number, body: string) =>
    handler(new Request(await sign(partNumber, body.length), { method: 'PUT', body }))
  await put(1, 'hel')
  await put(2, 'lo')
  const { parts } = (await multipart.listParts({ ...upload, after: 0 }))!
  const uploads = join(directory, 'uploads')
  const files = () => filesBelow(uploads).map((path) => path.split('.').at(-1))
  return { ...service, multipart, at, upload, parts, sign, put, uploads, files }
}

describe('the multipart uploads of diskStorage', () => {
  it('have a file for each part, and a description', async () => {
    const { uploads, multipart, upload, parts, directory, attemptId } = await uploadOf(
      diskService(),
      '../../\u{1F600}',
    )
    const files = filesBelow(uploads)
    for (const path of files)
      expect(path).toMatch(/^([0-9a-f]{2})\/\1[0-9a-f]{62}\.[0-9a-f-]{36}\.(?:1|2|upload)$/)
    expect(JSON.parse(readFileSync(join(uploads, files.at(-1)!), 'utf8'))).toEqual({
      bucket: 'files',
      key: '../../\u{1F600}',
      contentType: 'text/plain',
      attemptId,
    })
    expect(await multipart.complete({ ...upload, parts })).toBe(true)
    expect(filesBelow(uploads)).toEqual([])
    expect(readdirSync(join(directory, 'drafts'))).toEqual([])
    expect(readdirSync(join(directory, '..'))).toEqual(['storage'])
  })

  it('survive a restart, with their URLs', async () => {
    const { directory, upload, sign, parts, download } = await uploadOf()
    const url = await sign(3, 1)
    const after = diskService(directory)
    expect((await after.handler(new Request(url, { method: 'PUT', body: '!' }))).status).toBe(200)
    const multipart = after.storage.multipart!
    const listed = (await multipart.listParts({ ...upload, after: 0 }))!
    expect(listed.parts.slice(0, 2)).toEqual(parts)
    expect(await multipart.complete({ ...upload, parts: listed.parts })).toBe(true)
    expect(await (await after.get(download)).text()).toBe('hello!')
  })

  it('have ended once their object exists, even if a crash left the parts behind', async () => {
    const { directory, uploads, multipart, upload, at, parts, files, put, storage } = await uploadOf()
    cpSync(uploads, `${directory}.copy`, { recursive: true })
    expect(await multipart.complete({ ...upload, parts })).toBe(true)
    cpSync(`${directory}.copy`, uploads, { recursive: true })
    rmSync(`${directory}.copy`, { recursive: true })

    expect(await multipart.list(at)).toEqual([])
    expect(await multipart.complete({ ...upload, parts })).toBe(false)
    expect(await codeOf(await put(1, 'HEL'))).toEqual([404, 'OBJECT_NOT_FOUND', undefined])
    expect(files()).toHaveLength(3)
    expect(await multipart.listParts({ ...upload, after: 0 })).toBeNull()
    expect(files()).toEqual([])
    expect(await storage.head(at)).toMatchObject({ size: 5 })
  })

  it.each([
    ['the first part', ['1']],
    ['all parts', ['1', '2']],
  ])('can still be found and aborted if an abort stopped after %s', async (_, removed) => {
    const { uploads, multipart, upload, at, parts, files, storage } = await uploadOf()
    for (const path of filesBelow(uploads)) {
      if (removed.includes(path.split('.').at(-1)!)) rmSync(join(uploads, path))
    }
    expect(await multipart.list(at)).toEqual([upload.uploadId])
    expect((await multipart.listParts({ ...upload, after: 0 }))!.parts).toHaveLength(2 - removed.length)
    expect(await multipart.complete({ ...upload, parts })).toBe(false)
    expect(await storage.head(at)).toBeNull()
    await multipart.abort(upload)
    expect(files()).toEqual([])
  })

  it('can be found by a part that was written during an abort, and take no other parts', async () => {
    const { uploads, multipart, upload, at, parts, files, put } = await uploadOf()
    for (const path of filesBelow(uploads)) if (!path.endsWith('.1')) rmSync(join(uploads, path))
    expect(await multipart.list(at)).toEqual([upload.uploadId])
    expect((await multipart.listParts({ ...upload, after: 0 }))!.parts).toEqual(parts.slice(0, 1))
    expect(await multipart.complete({ ...upload, parts: parts.slice(0, 1) })).toBe(false)
    expect(await codeOf(await put(2, 'lo'))).toEqual([404, 'OBJECT_NOT_FOUND', undefined])
    await multipart.abort(upload)
    expect(files()).toEqual([])
  })

  it('are copied once by 30 completions at the same time, also of several storages', async () => {
    const { multipart, upload, parts, storage, directory } = await uploadOf()
    const others = [diskService(directory), diskService(directory)].map((other) => other.storage.multipart!)
    const written = watchEveryFile('writeFile')
    const completions = Array.from({ length: 30 }, (_, index) =>
      [multipart, ...others][index % 3]!.complete({ ...upload, parts }),
    )
    expect((await Promise.all(completions)).filter(Boolean)).toHaveLength(1)
    expect(await storage.head(upload)).toMatchObject({ size: 5 })
    expect(written.calls().filter(([data]) => String(data) === 'hel')).toHaveLength(1)
  })

  it('keep the previous part if the disk refuses a new one', async () => {
    const { multipart, upload, parts, put, directory } = await uploadOf()
    onEveryFile('writeFile', () => Promise.reject(refusal('ENOSPC')))
    expect(await codeOf(await put(1, 'HEL'))).toEqual([502, 'STORAGE_UNAVAILABLE', undefined])
    await expect(multipart.create({ ...upload, contentType: 'a/b', attemptId: 'x' })).rejects.toThrow(
      'ENOSPC',
    )
    await expect(multipart.complete({ ...upload, parts })).rejects.toThrow('ENOSPC')
    vi.restoreAllMocks()
    expect((await multipart.listParts({ ...upload, after: 0 }))!.parts).toEqual(parts)
    expect(await multipart.complete({ ...upload, parts })).toBe(true)
    expect(readdirSync(join(directory, 'drafts'))).toEqual([])
  })

  it('are an error if their directory is gone', async () => {
    const { directory, multipart, upload, at, parts, put } = await uploadOf()
    const url = await put(3, 'x')
    expect(url.status).toBe(200)
    rmSync(directory, { recursive: true })
    await expect(multipart.create({ ...at, contentType: 'a/b', attemptId: 'x' })).rejects.toThrow('ENOENT')
    await expect(multipart.listParts({ ...upload, after: 0 })).rejects.toThrow('ENOENT')
    await expect(multipart.complete({ ...upload, parts })).rejects.toThrow('ENOENT')
    await expect(multipart.abort(upload)).rejects.toThrow('ENOENT')
    await expect(multipart.list(at)).rejects.toThrow('ENOENT')
    expect(await codeOf(await put(1, 'hel'))).toEqual([502, 'STORAGE_UNAVAILABLE', undefined])
  })

  it('are an error if a part is damaged, and never become a different object', async () => {
    const { uploads, storage, at, multipart, upload, parts } = await uploadOf()
    for (const path of filesBelow(uploads)) if (path.endsWith('.2')) cpSync(__filename, join(uploads, path))
    await expect(multipart.listParts({ ...upload, after: 0 })).rejects.toThrow('damaged')
    await expect(multipart.complete({ ...upload, parts })).rejects.toThrow('damaged')
    expect(await storage.head(at)).toBeNull()
    await multipart.abort(upload)
  })
})
