import type { DbClientObject } from '@svc/db/client'
import { describe, expect, it } from 'vitest'
import { rejectionOf } from './rejection.js'
import { startClient } from './server.js'

const OTHER = { docs: {}, pictures: { bucket: 'pictures' } }

describe('api.db.listObjects', () => {
  it('lists only the caller’s objects, newest first', async () => {
    const { api, as } = startClient()
    const first = await api.upload(new File(['1'], '1.txt'))
    const second = await api.upload(new File(['22'], '2.txt'))
    await as('grace').upload(new File(['3'], '3.txt'))
    expect(await api.db.listObjects()).toEqual({ objects: [second, first] })
    expect((await as('grace').db.listObjects()).objects.map(({ filename }) => filename)).toEqual(['3.txt'])
  })

  it('returns all pages by cursor', async () => {
    const { api } = startClient()
    const uploaded: DbClientObject[] = []
    for (const name of ['1', '2', '3', '4', '5']) uploaded.unshift(await api.upload(new File(['x'], name)))
    const seen: DbClientObject[] = []
    let cursor: string | undefined
    do {
      const page = await api.db.listObjects({ limit: 2, cursor })
      expect(page.objects.length).toBeLessThanOrEqual(2)
      seen.push(...page.objects)
      cursor = page.nextCursor
    } while (cursor)
    expect(seen).toEqual(uploaded)
  })

  it('filters by status and by route', async () => {
    const { api } = startClient({ routes: OTHER })
    const doc = await api.upload(new File(['1'], '1.txt'), { route: 'docs' })
    const picture = await api.upload(new File(['2'], '2.png'), { route: 'pictures' })
    await api.delete(doc)
    expect((await api.db.listObjects({ route: 'pictures' })).objects).toEqual([picture])
    expect((await api.db.listObjects({ route: 'docs' })).objects).toEqual([])
    expect((await api.db.listObjects({ status: 'deleted' })).objects).toEqual([{ ...doc, status: 'deleted' }])
  })

  it('treats null as omitted, and sends empty strings', async () => {
    const { api, sent } = startClient()
    await api.db.listObjects({ status: null, limit: null, cursor: null, route: null, signal: null })
    expect(sent.at(-1)?.target).toBe('/api/s3/db/objects')
    expect(await rejectionOf(api.db.listObjects({ cursor: '' }))).toMatchObject({ code: 'INVALID_CURSOR' })
  })
})

it('sends only options to the server, whatever else a library for queries passes', async () => {
  const { api, sent } = startClient({ usageEndpoint: true })
  const { signal } = new AbortController()
  const context = {
    client: {},
    queryKey: ['files'],
    meta: undefined,
    pageParam: 1,
    query: { a: 1 },
    body: {},
  }
  for (const call of [api.db.listObjects, api.db.getUsage]) await call({ ...context, signal })
  expect(sent.map(({ method, target }) => `${method} ${target}`)).toEqual([
    'GET /api/s3/db/objects',
    'GET /api/s3/db/usage',
  ])
})

describe('api.db.getObject', () => {
  it('returns the object, or null if the caller has none', async () => {
    const { api, as } = startClient({ routes: OTHER })
    const object = await api.upload(new File(['1'], '1.png'), { route: 'pictures' })
    const { key, bucket } = object
    expect(await api.db.getObject({ key, bucket })).toEqual(object)
    expect(await api.db.getObject(object)).toEqual(object)
    expect(await api.db.getObject({ key })).toBeNull()
    expect(await as('grace').db.getObject({ key, bucket })).toBeNull()
  })

  it('finds an object by its id', async () => {
    const { api, as, sent } = startClient({ routes: OTHER })
    const object = await api.upload(new File(['1'], '1.png'), { route: 'pictures' })
    const { id } = object
    expect(await api.db.getObject({ id })).toEqual(object)
    expect(sent.at(-1)?.target).toBe(`/api/s3/db/object?id=${id}`)
    expect(await as('grace').db.getObject({ id })).toBeNull()
    expect(await rejectionOf(api.db.getObject({ id: '1' }))).toMatchObject({ status: 400 })
  })

  it('rejects with all other errors', async () => {
    const { api, as } = startClient()
    expect(await rejectionOf(api.db.getObject({ key: '' }))).toMatchObject({ status: 400 })
    expect(await rejectionOf(as(null).db.getObject({ key: 'a' }))).toMatchObject({ status: 401 })
    expect(await rejectionOf(api.db.getObject({ key: 'a', signal: AbortSignal.abort() }))).toMatchObject({
      code: 'ABORTED',
    })
  })
})

describe('api.db.getUsage', () => {
  it('returns usage and quota', async () => {
    const { api } = startClient({ usageEndpoint: true, quota: { maxFiles: 3 } })
    await api.upload(new File(['123'], '1.txt'))
    const usage = { bytes: 3, files: 1, reservedBytes: 0, reservedFiles: 0 }
    expect(await api.db.getUsage()).toEqual({ usage, quota: { maxFiles: 3 } })
    expect(await api.db.getUsage({ timeoutSeconds: 60, signal: null })).toEqual({
      usage,
      quota: { maxFiles: 3 },
    })
  })

  it('can be aborted', async () => {
    const { api } = startClient({ usageEndpoint: true })
    const call = api.db.getUsage({ signal: AbortSignal.abort() })
    expect(await rejectionOf(call)).toMatchObject({ code: 'ABORTED' })
  })

  it('rejects if the server has the endpoint off', async () => {
    expect(await rejectionOf(startClient().api.db.getUsage())).toMatchObject({
      status: 404,
      code: 'NOT_FOUND',
    })
  })
})

describe('api.db.updateObject', () => {
  it('changes the object with a key or an id, and returns it', async () => {
    const { api, sent } = startClient({ update: { fields: ['filename', 'metadata', 'contentType'] } })
    const object = await api.upload(new File(['1'], '1.txt', { type: 'text/plain' }))
    const { id, key } = object
    const renamed = { ...object, filename: 'Report.txt' }
    expect(await api.db.updateObject({ ...object, filename: 'Report.txt', attemptId: id })).toEqual(renamed)
    expect(sent.at(-1)?.target).toBe(`/api/s3/db/object?key=${encodeURIComponent(key)}&bucket=files`)
    const change = { contentType: 'text/html', setMetadata: { album: 'Summer', none: null } }
    expect(await api.db.updateObject({ id, ...change })).toEqual({ ...renamed, contentType: 'text/html' })
    expect((await api.db.updateObject({ id, metadata: null })).filename).toBe('Report.txt')
  })

  it('rejects with the errors of the server', async () => {
    const { api, as } = startClient({ update: true })
    const { id } = await api.upload(new File(['1'], '1.txt'))
    const filename = 'stolen'
    expect(await rejectionOf(as('grace').db.updateObject({ id, filename }))).toMatchObject({
      ...{ code: 'OBJECT_NOT_FOUND', method: 'PATCH', path: '/db/object' },
    })
    expect(await rejectionOf(api.db.updateObject({ id, metadata: {} }))).toMatchObject({
      params: { field: 'metadata' },
    })
  })
})
