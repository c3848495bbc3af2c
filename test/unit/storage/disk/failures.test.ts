import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { diskLayout } from '../../../../src/storage/disk/layout.js'
import { createDiskByteStore } from '../../../../src/storage/disk/objects.js'
import { codeOf, HELLO } from '../object-storage-contract/bucket-service.js'
import { filesBelow, temporaryFolder } from '../temporary-folder.js'
import { diskService } from './disk-service.js'
import { onEveryFile, refusal, watchEveryFile } from './file-handles.js'

const UNAVAILABLE = [502, 'STORAGE_UNAVAILABLE', undefined]

afterEach(() => vi.restoreAllMocks())

type Service = ReturnType<typeof diskService>

/** Creates a service with one object. */
async function serviceWithObject() {
  const service = diskService()
  await service.put(service.upload, HELLO)
  return { ...service, object: join(service.directory, filesBelow(service.directory)[0]!) }
}

async function expectAllUnavailable({ storage, upload, download, put, get }: Service): Promise<void> {
  await expect(storage.head(upload)).rejects.toThrow()
  await expect(storage.remove(upload)).rejects.toThrow()
  expect(await codeOf(await put(upload, HELLO))).toEqual(UNAVAILABLE)
  expect(await codeOf(await get(download))).toEqual(UNAVAILABLE)
}

describe('a directory that', () => {
  it('has been deleted is an error, not an empty storage', async () => {
    const service = await serviceWithObject()
    rmSync(service.directory, { recursive: true })
    await expectAllUnavailable(service)
    expect(() => readdirSync(service.directory)).toThrow('ENOENT')
  })

  it('is deleted during an upload is not created again', async () => {
    const { directory, storage, upload, put } = diskService()
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          rmSync(directory, { recursive: true })
          controller.enqueue(HELLO)
          controller.close()
        },
      },
      { highWaterMark: 0 },
    )
    expect(await codeOf(await put(upload, body))).toEqual(UNAVAILABLE)
    await expect(storage.head(upload)).rejects.toThrow('ENOENT')
    expect(() => readdirSync(directory)).toThrow('ENOENT')
  })

  it('is deleted just before an upload is not created again', async () => {
    const directory = join(temporaryFolder(), 'storage')
    const byteStore = createDiskByteStore(diskLayout(directory), () => undefined)
    expect(await byteStore.describe('files', 'a')).toBeNull()
    rmSync(directory, { recursive: true })
    async function* chunks() {
      yield HELLO
    }
    const content = { chunks: chunks(), contentType: 'text/plain', attemptId: 'any' }
    await expect(byteStore.create('files', 'a', content)).rejects.toThrow('ENOENT')
    expect(() => readdirSync(directory)).toThrow('ENOENT')
  })

  it('is a file is an error until it is removed', async () => {
    const service = diskService()
    writeFileSync(service.directory, '')
    await expect(service.storage.head(service.upload)).rejects.toThrow()
    await expect(service.storage.remove(service.upload)).rejects.toThrow()
    await expect(service.storage.signUpload(service.upload)).rejects.toThrow()
    rmSync(service.directory)
    expect((await service.put(service.upload, HELLO)).status).toBe(200)
  })

  it.each(['objects', 'drafts', 'removed'])('has lost its %s folder refuses uploads', async (folder) => {
    const { directory, storage, upload, put } = await serviceWithObject()
    await storage.remove(upload)
    rmSync(join(directory, folder), { recursive: true })
    writeFileSync(join(directory, folder), '')
    expect(await codeOf(await put(upload, HELLO))).toEqual(UNAVAILABLE)
  })

  it.skipIf(process.getuid?.() === 0 || process.platform === 'win32')(
    'cannot be read is an error (root can read everything, and Windows has no modes)',
    async () => {
      const service = await serviceWithObject()
      chmodSync(join(service.directory, 'objects'), 0)
      try {
        await expectAllUnavailable(service)
      } finally {
        chmodSync(join(service.directory, 'objects'), 0o700)
      }
      expect(await service.storage.head(service.upload)).toMatchObject({ size: 5 })
    },
  )

  it('has a file in place of a subfolder is an error', async () => {
    const service = await serviceWithObject()
    rmSync(dirname(service.object), { recursive: true })
    writeFileSync(dirname(service.object), '')
    await expectAllUnavailable(service)
  })
})

/** Refuses the bytes of uploads, and nothing else. */
function refuseBytes(code: string): void {
  onEveryFile('writeFile', async ({ args, act }) => {
    if (args[0] instanceof Uint8Array) throw refusal(code)
    return act(...args)
  })
}

describe('a disk that refuses', () => {
  const refusals: Record<string, (code: string) => void> = {
    'the claim': (code) =>
      onEveryFile('writeFile', async ({ args, act }) => {
        if (String(args[0]).startsWith('{"host"')) throw refusal(code)
        return act(...args)
      }),
    'the bytes': refuseBytes,
    'the description': (code) =>
      onEveryFile('writeFile', async ({ args, act }) => {
        if (String(args[0]).startsWith('\n{')) throw refusal(code)
        return act(...args)
      }),
    'to sync the file': (code) => {
      const written = watchEveryFile('writeFile')
      onEveryFile('sync', async ({ act }) => {
        // The first sync is that of the folder, before any bytes are written.
        if (written.calls().some(([data]) => data instanceof Uint8Array)) throw refusal(code)
        return act()
      })
    },
  }

  it.each(Object.keys(refusals))(
    '%s causes STORAGE_UNAVAILABLE, and nothing is left behind',
    async (what) => {
      const code = 'ENOSPC'
      const { directory, handler, storage, reported, upload, put } = diskService()
      const { url, ...init } = await storage.signUpload(upload)
      refusals[what]!(code)
      const refused = await handler(new Request(url, { ...init, body: HELLO }))
      expect(await codeOf(refused)).toEqual(UNAVAILABLE)
      expect(reported).toMatchObject([{ cause: { code } }])
      vi.restoreAllMocks()
      expect(filesBelow(directory)).toEqual(['signing-secret'])
      expect(await storage.head(upload)).toBeNull()
      expect((await put(upload, HELLO)).status).toBe(200)
    },
  )

  it('the bytes cancels the rest of the body', async () => {
    const { handler, storage, upload } = diskService()
    let cancelled = false
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(1000)),
      cancel: () => {
        cancelled = true
        throw new Error('ignored')
      },
    })
    const { url, ...init } = await storage.signUpload({ ...upload, size: 1_000_000 })
    refuseBytes('ENOSPC')
    const request = new Request(url, { ...init, body: endless, ...{ duplex: 'half' } })
    expect(await codeOf(await handler(request))).toEqual(UNAVAILABLE)
    // After the response, which doesn't wait for it.
    await expect.poll(() => cancelled).toBe(true)
  })

  it('to link the file leaves no object', async () => {
    const { directory, storage, upload, put } = await serviceWithObject()
    const drafts = join(directory, 'drafts')
    await storage.remove(upload)
    // Removes the draft just before it would be linked.
    onEveryFile('sync', async ({ act }) => {
      await act()
      for (const name of readdirSync(drafts)) rmSync(join(drafts, name))
    })
    expect(await codeOf(await put(upload, HELLO))).toEqual(UNAVAILABLE)
    vi.restoreAllMocks()
    expect(await storage.head(upload)).toBeNull()
  })

  it('to write a description that is too long leaves no object', async () => {
    const { directory, upload, put } = diskService()
    expect(await codeOf(await put({ ...upload, key: 'x'.repeat(20_000) }, HELLO))).toEqual(UNAVAILABLE)
    expect(filesBelow(directory)).toEqual(['signing-secret'])
  })
})

it('describes an object on a disk that returns a few bytes at a time', async () => {
  const { storage, upload, put } = diskService()
  await put(upload, HELLO)
  onEveryFile('read', ({ args: [buffer, offset, length, position], act }) =>
    act(buffer, offset, Math.min(length as number, 7), position),
  )
  expect(await storage.head(upload)).toMatchObject({ size: 5 })
})

describe('a damaged file', () => {
  it.each<[string, (path: string) => void]>([
    ['is empty', (path) => truncateSync(path, 0)],
    ['has only a line feed', (path) => writeFileSync(path, '\n')],
    ['has only bytes', (path) => truncateSync(path, 5)],
    ['has only part of its description', (path) => truncateSync(path, 40)],
    ['has lost its end', (path) => truncateSync(path, readFileSync(path).byteLength - 1)],
    ['has lost its beginning', (path) => writeFileSync(path, readFileSync(path).subarray(1))],
    ['has null as description', (path) => writeFileSync(path, 'hello\nnull\n')],
    ['has an incomplete description', (path) => writeFileSync(path, 'hello\n{"size":5}\n')],
    ['has a description without bytes', (path) => writeFileSync(path, readFileSync(path).subarray(6))],
  ])('that %s is an error, not an object', async (_, damage) => {
    const { storage, upload, download, put, get, object } = await serviceWithObject()
    damage(object)
    const described = watchEveryFile('stat')
    await expect(storage.head(upload)).rejects.toThrow('diskStorage: the file of an object is damaged.')
    expect(await codeOf(await get(download))).toEqual(UNAVAILABLE)
    expect(await codeOf(await put(upload, HELLO))).toEqual(UNAVAILABLE)
    expect(described.descriptors()).toEqual([-1, -1, -1])
    await storage.remove(upload)
    expect((await put(upload, HELLO)).status).toBe(200)
  })
})

describe('the secret', () => {
  it.each(['', 'short', `${'0'.repeat(63)}\n`, '0'.repeat(64)])(
    'is refused if it is damaged: %j',
    async (text) => {
      const { directory, storage, upload, put } = diskService()
      mkdirSync(directory)
      writeFileSync(join(directory, 'signing-secret'), text)
      await expect(storage.signUpload(upload)).rejects.toThrow(
        'diskStorage: the file "signing-secret" is damaged. Delete it to create a new secret',
      )
      rmSync(join(directory, 'signing-secret'))
      expect((await put(upload, HELLO)).status).toBe(200)
    },
  )

  it('is not replaced if it cannot be read', async () => {
    const { directory, storage, upload } = diskService()
    mkdirSync(join(directory, 'signing-secret'), { recursive: true })
    await expect(storage.signUpload(upload)).rejects.toThrow('EISDIR')
  })
})

describe('verify', () => {
  it('finds nothing in a directory that can be used, and leaves nothing behind', async () => {
    const { storage, directory } = diskService()
    const runs = Array.from({ length: 5 }, () => storage.verify!({ bucket: 'files' }))
    expect((await Promise.all(runs)).flat()).toEqual([])
    expect(filesBelow(join(directory, 'objects'))).toEqual([])
  })

  it('removes what a killed run has left', async () => {
    const { storage, directory } = diskService()
    const left = { bucket: 'files', key: '.svc-db/verify', contentType: 'text/plain', attemptId: 'verify' }
    await storage.write!({ ...left, body: HELLO })
    expect(await storage.verify!({ bucket: 'files' })).toEqual([])
    expect(filesBelow(join(directory, 'objects'))).toEqual([])
  })

  it('names a directory that can not be used, and a damaged secret', async () => {
    const { storage, directory } = await serviceWithObject()
    const finding = (text: string) => [{ part: 'bucket', message: expect.stringContaining(text) as string }]
    rmSync(directory, { recursive: true })
    expect(await storage.verify!({ bucket: 'files' })).toEqual(finding('is writable'))
    mkdirSync(directory)
    writeFileSync(join(directory, 'signing-secret'), 'short')
    const reopened = diskService(directory)
    expect(await reopened.storage.verify!({ bucket: 'files' })).toEqual(
      finding('"signing-secret" is damaged. Delete it'),
    )
  })
})
