import { describe, expect, it } from 'vitest'
import { StorageError, type DbClientObject } from '@svc/db'
import { ManualClock } from '../../conformance/clock.js'
import * as parts from '../../unit/server/multipart/in-parts.js'
import { around, beginAndPut, type Caller } from '../../unit/server/service.js'
import { documented, observed, seen } from './observed-service.js'

const ID = '019b7d00-0000-7000-8000-000000000000'
const FILE = { filename: 'a.txt', contentType: 'text/plain', size: 3 }
const MULTIPART = { key: 'a', id: ID, uploadId: 'x' }
const REQUESTS = [
  ['GET', '/db/objects'],
  ['GET', '/db/object?key=a'],
  ['POST', '/upload', FILE],
  ['GET', '/upload/rules'],
  ['POST', '/upload/confirm', { key: 'a', id: ID }],
  ['POST', '/upload/abort', { key: 'a', id: ID }],
  ['POST', '/multipart', FILE],
  ['POST', '/multipart/parts', { ...MULTIPART, partNumbers: [1] }],
  ['POST', '/multipart/list', MULTIPART],
  ['POST', '/multipart/complete', MULTIPART],
  ['POST', '/multipart/abort', MULTIPART],
  ['GET', '/download?key=a'],
  ['GET', '/file?key=a'],
  ['GET', '/db/usage'],
  ['DELETE', '/object?key=a'],
] as const

async function sendAll(caller: Caller): Promise<number[]> {
  const responses = REQUESTS.map(([method, path, body]) => caller.send(method, path, body))
  return (await Promise.all(responses)).map(({ status }) => status)
}

describe('responses match the document', () => {
  it('for single-PUT uploads', async () => {
    const ann = observed().as('user:ann')
    const { key } = await ann.upload()
    await ann.bytes(key)
    expect((await ann.file({ key })).status).toBe(302)
    expect((await ann.send('GET', '/db/objects?limit=1')).status).toBe(200)
    expect((await ann.send('GET', `/db/object?key=${key}`)).status).toBe(200)
    expect((await ann.delete(key)).status).toBe(204)
    expect((await ann.abort((await ann.begun()).object)).status).toBe(204)
  })

  it('for multipart uploads', async () => {
    const ann = observed().as('user:ann')
    const begun = await parts.begun(ann, { size: 2 * parts.PART })
    await parts.sendParts(ann, begun)
    expect((await parts.listed(ann, begun)).parts).toHaveLength(2)
    expect((await parts.complete(ann, begun)).status).toBe(200)
    expect((await parts.complete(ann, begun)).status).toBe(200)
    expect((await parts.abort(ann, await parts.begun(ann))).status).toBe(204)
  })

  it('without authentication and for missing objects', async () => {
    expect(new Set(await sendAll(observed().as(null)))).toEqual(new Set([401]))
    expect(await sendAll(observed().as('user:ann'))).toEqual([
      200, 404, 201, 200, 404, 404, 201, 404, 404, 404, 404, 404, 404, 200, 404,
    ])
  })

  it('for invalid input', async () => {
    const ann = observed().as('user:ann')
    for (const [method, path] of REQUESTS) {
      const bad = method === 'POST' ? {} : undefined
      // Without parameters, only the length of the query can be invalid.
      const query = ['/db/usage', '/upload/rules'].includes(path) ? `?${'x'.repeat(8193)}` : '?key=&limit=0'
      expect((await ann.send(method, path.replace(/\?.*/, '') + query, bad)).status).toBe(400)
    }
    expect((await ann.send('GET', '/db/objects?cursor=x')).status).toBe(400)
  })

  it('if the database or the application fails', async () => {
    const failing = (error: () => Error) =>
      observed({
        resolveScope: () => {
          throw error()
        },
      }).as('user:ann')
    expect(new Set(await sendAll(failing(() => new Error('broken'))))).toEqual(new Set([500]))
    expect(new Set(await sendAll(failing(() => new StorageError('DATABASE_UNAVAILABLE'))))).toEqual(
      new Set([503]),
    )
  })

  it('if the storage fails', async () => {
    let isDown = false
    const fail = (): never => {
      throw new Error('timeout')
    }
    const service = observed({
      storage: (memory) => ({
        ...memory,
        head: async (reference) => (isDown ? fail() : memory.head(reference)),
        signUpload: async (input) => (isDown ? fail() : memory.signUpload(input)),
        signDownload: async (input) => (isDown ? fail() : memory.signDownload(input)),
        multipart: {
          ...memory.multipart!,
          create: async (input) => (isDown ? fail() : memory.multipart!.create(input)),
          signPart: async (input) => (isDown ? fail() : memory.multipart!.signPart(input)),
          listParts: async (input) => (isDown ? fail() : memory.multipart!.listParts(input)),
        },
      }),
    })
    const ann = service.as('user:ann')
    const { key } = await ann.upload()
    const { object } = await ann.begun()
    const inParts = await parts.begun(ann)
    isDown = true
    const responses = [
      await ann.begin(),
      await ann.confirm(object),
      await ann.download(key),
      await ann.file({ key }),
      await parts.begin(ann),
      await parts.sign(ann, inParts),
      await parts.list(ann, inParts),
      await parts.complete(ann, inParts),
    ]
    expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 502))
  })

  it('if a guard denies the request', async () => {
    const guard = () => {
      throw new Error('no')
    }
    const open = observed()
    const { key } = await open.as('user:ann').upload()
    const { objects } = open
    const ann = observed({
      objects,
      upload: { guard },
      multipart: { guard },
      download: { guard },
      delete: { guard },
    }).as('user:ann')
    const responses = [
      await ann.begin(),
      await parts.begin(ann),
      await ann.download(key),
      await ann.file({ key }),
      await ann.delete(key),
    ]
    expect(responses.map(({ status }) => status)).toEqual([403, 403, 403, 403, 403])
    const noPlan = () => Promise.reject(new StorageError('FORBIDDEN'))
    const refused = observed({ routes: { only: { maxFileSize: noPlan } } }).as('user:ann')
    expect((await refused.send('GET', '/upload/rules')).status).toBe(403)
  })

  it.each([
    ['single-PUT', (ann: Caller, input: object) => ann.begin({ ...input })],
    ['multipart', (ann: Caller, input: object) => parts.begin(ann, { ...input })],
  ])('for a refused %s upload', async (_, begin) => {
    const routes = { only: { maxFileSize: 10, contentTypes: ['text/*'], key: () => 'one key' } }
    const ann = observed({ routes, quota: { maxBytes: 5 } }).as('user:ann')
    expect((await begin(ann, { size: 11 })).status).toBe(413)
    expect((await begin(ann, { size: 6 })).status).toBe(413)
    expect((await begin(ann, { contentType: 'image/png' })).status).toBe(415)
    await ann.upload()
    expect((await begin(ann, { size: 1 })).status).toBe(409)
  })

  it('if the reservation expires before its URL is signed', async () => {
    const clock = new ManualClock()
    const hooks = { onReserved: () => clock.advance(2000) }
    const ann = observed({ clock, hooks, pendingTtlSeconds: 1 }).as('user:ann')
    expect((await ann.begin()).status).toBe(404)
  })

  it('if a multipart upload ends during its creation', async () => {
    const service = observed({
      storage: parts.withMultipart((multipart) => ({
        async create(input) {
          await service.objects.release({ bucket: input.bucket, key: input.key })
          return multipart.create(input)
        },
      })),
    })
    expect((await parts.begin(service.as('user:ann'))).status).toBe(404)
  })

  it('if an object is replaced during each attempt to delete it', async () => {
    const service = observed({ routes: { only: { key: () => 'one key', overwrite: true } } })
    const ann = service.as('user:ann')
    await ann.upload()
    around(service.objects, 'remove', (remove) => async (input) => {
      await ann.upload()
      return remove(input)
    })
    expect((await ann.delete('one key')).status).toBe(409)
  })

  it('if nothing was uploaded', async () => {
    const ann = observed().as('user:ann')
    const { object } = await ann.begun()
    expect((await ann.confirm(object)).status).toBe(409)
    expect((await parts.complete(ann, await parts.begun(ann))).status).toBe(409)
  })

  it('if a check rejects the bytes', async () => {
    const service = observed({ routes: { only: { check: true } } })
    const ann = service.as('user:ann')
    const reject = ({ key, id }: DbClientObject) => service.s3.files.reject({ key, attemptId: id })
    const { object } = await beginAndPut(ann)
    expect((await ann.confirm(object)).status).toBe(200)
    await reject(object)
    expect((await ann.confirm(object)).status).toBe(409)

    const begun = await parts.begun(ann, { size: 2 * parts.PART })
    await parts.sendParts(ann, begun)
    expect((await parts.complete(ann, begun)).status).toBe(200)
    await reject(begun.object)
    expect((await parts.complete(ann, begun)).status).toBe(409)
  })

  it('for a list with a next page', async () => {
    const ann = observed().as('user:ann')
    await ann.upload()
    await ann.upload()
    const page = (await (await ann.send('GET', '/db/objects?limit=1')).json()) as { nextCursor?: string }
    expect(page.nextCursor).toEqual(expect.any(String))
  })
})

describe('the document', () => {
  it('documents only observed responses', () => {
    expect([...seen].sort()).toEqual(documented().sort())
  })
})
