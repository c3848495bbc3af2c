import { readdirSync } from 'node:fs'
import { describe, expect, it, vi } from 'vitest'
import { diskStorage } from '@svc/db/disk'
import { HELLO } from '../object-storage-contract/bucket-service.js'
import { temporaryFolder } from '../temporary-folder.js'
import { diskService } from './disk-service.js'
import { watchEveryFile } from './file-handles.js'

describe('the options of diskStorage', () => {
  it.each([undefined, null, '', 7, {}, 'a\0b', new URL('file:///data')])(
    'require a path as directory, not %j',
    (directory) => {
      const options = { directory } as unknown as { directory: string }
      expect(() => diskStorage(options)).toThrow(
        /^diskStorage: directory must be the path of a directory \(got /,
      )
      expect(() => diskStorage(options)).toThrow(TypeError)
    },
  )

  it.each([undefined, null, 'data'])('must be an object, not %j', (options) => {
    expect(() => diskStorage(options as unknown as { directory: string })).toThrow(TypeError)
  })

  it('resolve a relative directory against the current working directory', async () => {
    const folder = temporaryFolder()
    const cwd = vi.spyOn(process, 'cwd').mockReturnValue(folder)
    const storage = diskStorage({ directory: './data/../storage' })
    cwd.mockRestore()
    expect(await storage.head({ bucket: 'files', key: 'a' })).toBeNull()
    expect(readdirSync(folder)).toEqual(['storage'])
  })

  it('work on Windows, where folders cannot be synced', async () => {
    const platform = Object.getOwnPropertyDescriptor(process, 'platform')!
    Object.defineProperty(process, 'platform', { ...platform, value: 'win32' })
    try {
      const { storage, upload, put } = diskService()
      const sync = watchEveryFile('sync')
      await storage.signUpload(upload)
      sync.forget()
      expect((await put(upload, HELLO)).status).toBe(200)
      expect(sync.calls()).toHaveLength(1)
      await storage.remove(upload)
      expect(await storage.head(upload)).toBeNull()
    } finally {
      vi.restoreAllMocks()
      Object.defineProperty(process, 'platform', platform)
    }
  })
})
