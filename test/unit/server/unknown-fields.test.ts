import { transferScope, type StorageObject } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { around } from '../options/untouched-store.js'
import { BASE, startService } from './service.js'

const scope = 'user:1'
const body = new Uint8Array(3)

/** A service with an object, whose later calls of the database and the storage are counted. */
async function countedService() {
  const service = startService({
    resolveScope: () => scope,
    storage: (memory) => ({ ...memory, baseURL: `${BASE}/_storage` }),
  })
  const { s3, objects, storage } = service
  const row = await s3.files.put({ scope, body, filename: 'a.txt', quota: false })
  const touched = { calls: 0 }
  for (const part of [objects, storage, storage.multipart!]) around(part, () => touched.calls++)
  const request = new Request(BASE)
  const { bucket, key } = row
  const ended = { ...row, temporaryUntil: new Date(0) }
  const calls = {
    'files.put': (more: object) => s3.files.put({ scope, body, filename: 'b.txt', quota: false, ...more }),
    'files.get': (more: object) => s3.files.get({ key, ...more }),
    'files.downloadURL': (more: object) => s3.files.downloadURL({ key, ...more }),
    'files.delete': (more: object) => s3.files.delete({ key, ...more }),
    'files.accept': (more: object) => s3.files.accept({ key, attemptId: row.attemptId, ...more }),
    'files.reject': (more: object) => s3.files.reject({ key, attemptId: row.attemptId, ...more }),
    'db.reserve': (more: object) => s3.db.reserve(request, { key: 'new', declaredSize: 1, ...more }),
    'db.confirm': (more: object) => s3.db.confirm(request, { key, size: 1, ...more }),
    'db.release': (more: object) => s3.db.release(request, { key, ...more }),
    'db.remove': (more: object) => s3.db.remove(request, { key, ...more }),
    'db.update': (more: object) => s3.db.update(request, { key, filename: 'b.txt', ...more }),
    'db.keep': (more: object) => s3.db.keep(request, { ids: [row.id], ...more }),
    'store.find': (more: object) => objects.find({ bucket, key, ...more }),
    'store.remove': (more: object) => objects.remove({ bucket, key, ...more }),
    'store.reject': (more: object) => objects.reject({ bucket, key, id: row.id, ...more }),
    'store.listArrived': (more: object) => objects.listArrived({ ...more }),
    'store.listByScope': (more: object) => objects.listByScope({ scope, ...more }),
    'store.listScopes': (more: object) => objects.listScopes({ ...more }),
    'store.keep': (more: object) => objects.keep({ scope, objects: [{ id: row.id }], ...more }),
    'store.listTemporary': (more: object) => objects.listTemporary({ ...more }),
    'store.endTemporary': (more: object) => objects.endTemporary({ objects: [ended], ...more }),
  }
  return { ...service, row, touched, calls }
}

const refusing = (field: string, message: string) => ({
  code: 'VALIDATION_ERROR',
  params: { field },
  message: expect.stringContaining(message) as string,
})

/** For each call, a misspelt field and the one that is meant. */
const MISSPELT = {
  'files.put': ['contenttype', 'contentType'],
  'files.get': ['arived', 'arrived'],
  'files.downloadURL': ['expireIn', 'expiresIn'],
  'files.delete': ['scpoe', 'scope'],
  'files.accept': ['contenttype', 'contentType'],
  'files.reject': ['reasons', 'reason'],
  'db.reserve': ['overwirte', 'overwrite'],
  'db.confirm': ['sizes', 'size'],
  'db.release': ['uploadid', 'uploadId'],
  'db.remove': ['atemptId', 'attemptId'],
  'db.update': ['temporarySecond', 'temporarySeconds'],
  'db.keep': ['idss', 'ids'],
  'store.find': ['scopes', 'scope'],
  'store.remove': ['modes', 'mode'],
  'store.reject': ['raeson', 'reason'],
  'store.listArrived': ['dueBefor', 'dueBefore'],
  'store.listByScope': ['rout', 'route'],
  'store.listScopes': ['limits', 'limit'],
  'store.keep': ['object', 'objects'],
  'store.listTemporary': ['befor', 'before'],
  'store.endTemporary': ['modes', 'mode'],
} as const satisfies Record<
  keyof Awaited<ReturnType<typeof countedService>>['calls'],
  readonly [string, string]
>

describe.each(Object.entries(MISSPELT))('%s', (name, [typo, meant]) => {
  const call = name as keyof typeof MISSPELT

  it('refuses unknown fields before it reads or changes anything', async () => {
    const { calls, touched, row, objects } = await countedService()
    await expect(calls[call]({ [typo]: 'x' })).rejects.toMatchObject(
      refusing(typo, `"${typo}" is not a field of this call. Did you mean "${meant}"?`),
    )
    for (const far of ['owner', 'constructor', 'toString']) {
      await expect(calls[call]({ [far]: 'ann' })).rejects.toMatchObject(
        refusing(far, call === 'db.keep' ? 'Only ids is allowed.' : 'Allowed are'),
      )
    }
    // Of the calls of the store, the refused ones themselves are counted.
    expect(touched.calls).toBe(call.startsWith('store.') ? 4 : 0)
    expect(await objects.find(row)).toEqual(row)
  })

  it('takes a whole row, what JSON makes of it, and unknown fields without a value', async () => {
    const wholes = (row: StorageObject) => [row, { ...row }, JSON.parse(JSON.stringify(row)) as object]
    for (const index of [0, 1, 2]) {
      const { calls, row } = await countedService()
      // These calls create another object, so they can't use all values of the row.
      const own = /reserve|confirm|put/.test(call)
        ? { size: 3, declaredSize: 3, expiresAt: null, key: 'c', storageKey: null, id: null }
        : {}
      const refusal = calls[call]({ ...wholes(row)[index], ...own, surplus: null, owner: undefined }).then(
        () => null,
        ({ code, message }: Error & { readonly code: string }) =>
          code === 'OBJECT_NOT_FOUND' ? code : message,
      )
      expect([null, 'OBJECT_NOT_FOUND']).toContain(await refusal)
    }
  })
})

it('files.get refuses unknown fields of its range', async () => {
  const { s3, row } = await countedService()
  const range = { start: 0, ends: 1 }
  await expect(s3.files.get({ key: row.key, range })).rejects.toMatchObject(
    refusing('range.ends', 'Did you mean "range.end"?'),
  )
})

it('a misspelt filter is not ignored: a stranger keeps the file', async () => {
  const { s3, row, objects } = await countedService()
  const { key, bucket } = row
  await expect(objects.remove({ bucket, key, owner: 'ann' } as never)).rejects.toMatchObject(
    refusing('owner', 'bucket, key, scope'),
  )
  await expect(objects.listScopes({ prefixes: 'acme:' } as never)).rejects.toMatchObject(
    refusing('prefixes', 'is not a field of this call'),
  )
  await expect(transferScope(s3, { from: scope, to: 'user:2', bucket: 'a' } as never)).rejects.toThrow(
    new TypeError('transferScope: unknown option "bucket". Allowed are signal, onProgress, from, to, quota.'),
  )
  expect(await objects.find(row)).toEqual(row)
})

it('HTTP ignores parameters and members of a body that it does not know', async () => {
  const { as } = startService()
  const caller = as(scope)
  const begin = { filename: 'a.txt', contentType: 'text/plain', size: 1, surplus: 1, owner: 'ann' }
  expect((await caller.send('POST', '/upload?surplus=1', begin)).status).toBe(201)
  expect((await caller.send('GET', '/db/objects?owner=ann')).status).toBe(200)
})
