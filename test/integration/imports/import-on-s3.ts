import { PutObjectCommand } from '@aws-sdk/client-s3'
import { cleanUp, importObjects } from '@svc/db'
import { expect, it } from 'vitest'
import { ownerFromKey, store } from '../../unit/server/import-objects/bucket.js'
import { bytesOfSize, expectStatus } from '../../unit/server/service.js'
import { forEachConcurrently } from '../../unit/storage/object-storage-contract/bucket-service.js'
import { clientOf, describeS3, freshBucket, keysIn, type S3Server } from '../s3/s3-server.js'
import { LATER, serviceOn } from '../s3/service-on-s3.js'

/** Imports this many files and a few with odd keys. */
export function describeImportOnS3(count: number): void {
  describeS3('importObjects on S3', (server) => testImport(server, count))
}

function testImport(server: S3Server, count: number): void {
  const client = clientOf(server)
  const bucket = freshBucket(client)

  it('records files that then download, are replaced and are deleted', async () => {
    const { s3, as, storage, clock, objects } = serviceOn(client, bucket, {
      routes: { mine: { key: () => 'users/1/a+b ü&.txt', overwrite: true } },
    })
    const names = Array.from({ length: count }, (_, index) => `users/0/${index}`)
    const odd = ['users/1/a+b ü&.txt', 'users/1/\u0001', 'users/1/\ufffd', 'users/1/\u{10000}']
    await forEachConcurrently([...names, ...odd], (key) => store(storage, key, `bytes of ${key}`, bucket))
    expect(await importObjects(s3, { select: ownerFromKey })).toEqual({
      ...{ imported: count + odd.length, known: 0, differs: 0, skipped: 0, failed: [] },
      after: odd.at(-1),
    })
    expect(await importObjects(s3, { select: ownerFromKey, dryRun: true })).toMatchObject({
      ...{ imported: 0, known: count + odd.length, differs: 0, failed: [] },
    })
    expect(await objects.getScopeUsage('user:0')).toMatchObject({ files: count })

    const mine = as('user:1')
    const key = odd[0]!
    expect(new TextDecoder().decode(await mine.bytes(key))).toBe(`bytes of ${key}`)
    const row = await objects.findActive({ bucket, key })
    expect(row).toMatchObject({ eTag: (await storage.head({ bucket, key }))!.eTag })
    await mine.upload({ route: 'mine' })
    expect(await mine.bytes(key)).toEqual(bytesOfSize(3))
    for (const deleted of odd) await expectStatus(await mine.delete(deleted), 204)
    clock.advance(LATER)
    await cleanUp(s3)
    expect((await keysIn(client, bucket)).sort()).toEqual(names.sort())
  })

  it('fails a key that no URL can contain, and so does a download of one that was recorded earlier', async () => {
    const { s3, as, objects } = serviceOn(client, bucket)
    const key = 'users/2/../a'
    await client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: 'a' }))
    const refusal = {
      ...{ code: 'VALIDATION_ERROR', params: { field: 'key' } },
      message:
        'key must not have a "." or ".." segment (got "users/2/../a"). ' +
        'Such keys get no URL, because browsers would request another path.',
    }
    expect((await importObjects(s3, { select: ownerFromKey, prefix: 'users/2/' })).failed).toMatchObject([
      { key, error: refusal },
    ])
    const bytes = { bucket, key, storageKey: key, size: 1, createdAt: new Date(0) }
    await objects.adopt({ ...bytes, scope: 'user:2' })
    const reader = as('user:2')
    expect(await expectStatus(await reader.download(key), 400)).toEqual(refusal)
    const query = new URLSearchParams({ key, bucket })
    expect(await expectStatus(await reader.send('GET', `/file?${query}`), 400)).toEqual(refusal)
    await expect(s3.files.downloadURL({ key })).rejects.toMatchObject({ ...refusal, retryable: false })
  })
}
