import express from 'express'
import { describe, expect, it } from 'vitest'
import { createS3Server, db, memoryStorage, type DbClientObject, type ObjectStorage } from '@svc/db'
import type { SignedUpload } from '@svc/db/adapter'
import { diskStorage } from '@svc/db/disk'
import { expressBinding } from '@svc/db/express'
import { memoryAdapter } from '@svc/db/memory'
import { temporaryFolder } from '../../unit/storage/temporary-folder.js'
import { listen } from '../bindings/listening.js'

const storages: readonly [name: string, open: () => ObjectStorage][] = [
  ['memoryStorage', () => memoryStorage()],
  ['diskStorage', () => diskStorage({ directory: temporaryFolder() })],
]

/** A character that JSON writes with six, and characters of three and four bytes of UTF-8. */
const characters = ['\u0001', '\ufffd', '\u{1fffd}', '\u{10fffd}']
const codeOf = (character: string) => `U+${character.codePointAt(0)!.toString(16).padStart(4, '0')}`

const bytesOf = (text: string) => new TextEncoder().encode(text).byteLength

async function read<T>(response: Response, status: number): Promise<T> {
  const text = await response.text()
  expect([response.status, text]).toEqual([status, expect.anything()])
  return (text === '' ? null : JSON.parse(text)) as T
}

describe.each(storages)('names of the maximum length in %s', (_, open) => {
  it.each(characters.map((character) => [codeOf(character), character]))(
    'are uploaded and downloaded over HTTP: %s',
    async (_code, character) => {
      const key = character.repeat(Math.floor(1024 / bytesOf(character)))
      const filename = `${character.repeat(1020)}.txt`
      const contentType = `text/${'x'.repeat(250)}`
      const s3 = createS3Server({
        storage: open(),
        bucket: character.repeat(255),
        routes: { own: { key: () => key } },
        plugins: [db({ client: memoryAdapter(), resolveScope: () => 'user:1' })],
      })
      const { url } = await listen(express().use(expressBinding(s3)))
      const post = (path: string, body: unknown) =>
        fetch(`${url}/api/s3${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        })

      const input = { route: 'own', filename, contentType, size: 5 }
      const { object, upload } = await read<{ object: DbClientObject; upload: SignedUpload }>(
        await post('/upload', input),
        201,
      )
      expect(object.filename).toBe(filename)
      const stored = await fetch(upload.url, { ...upload, body: 'hello' })
      expect(stored.status).toBe(200)
      await read(await post('/upload/confirm', { key, id: object.id }), 200)

      const found = await fetch(`${url}/api/s3/download?key=${encodeURIComponent(key)}`)
      const download = await fetch((await read<{ url: string }>(found, 200)).url)
      expect([download.status, await download.text()]).toEqual([200, 'hello'])
      expect(download.headers.get('content-type')).toBe(contentType)
      const [, encoded = ''] = /filename\*=UTF-8''(.*)$/.exec(
        download.headers.get('content-disposition') ?? '',
      )!
      const saved = decodeURIComponent(encoded)
      const most = Math.min(251 / bytesOf(character), 396 / encodeURIComponent(character).length)
      expect(saved).toBe(`${character.repeat(Math.floor(most))}.txt`)
    },
  )
})
