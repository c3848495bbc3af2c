import {
  createS3Server,
  db,
  memoryStorage,
  StorageError,
  type DbClientObject,
  type Handler,
  type StorageObject,
} from '@svc/db'
import type { DbContext } from '@svc/db/adapter'
import { memoryAdapter } from '@svc/db/memory'
import { beforeAll, describe, expect, it } from 'vitest'
import { HOUR, ManualClock, MINUTE } from '../../conformance/clock.js'
import { errorOf, exchange } from './exchange.js'
import { scopeOf, USER_HEADER, type Serve, type Served } from './fixture.js'
import { CALLERS, FRIEND, letFriendRead, OWNER } from './readers.js'

const MOMENTS = ['a millisecond before its end', 'from its end on', 'after it was kept'] as const
const UNKNOWN_ID = '01890000-0000-7000-8000-000000000000'
const STORED = 'http://files.test/_storage'
const terms = { temporarySeconds: 9, temporaryUntil: null }

/** Tests what every request for an object with an end leads to, before and after that end. */
export function describeTemporaryDoors(serve: Serve): void {
  describe.each(MOMENTS)('an object with an end, %s', (moment) => {
    const isGone = moment === 'from its end on'
    const isKept = moment === 'after it was kept'
    const clock = new ManualClock()
    const until = clock.in(HOUR)
    const store = memoryAdapter({ now: clock.now, events: true })
    const s3 = createS3Server({
      storage: memoryStorage({ baseURL: STORED, now: clock.now }),
      bucket: 'files',
      routes: { drafts: { key: ({ filename }) => filename, temporarySeconds: 3600 } },
      plugins: [
        db({
          client: store,
          resolveScope: scopeOf,
          update: true,
          mayRead: letFriendRead,
        }),
      ],
      onError: () => undefined,
      now: clock.now,
    })
    let baseURL: string
    let object: DbClientObject
    let urlOfEarlier: string

    const send = (request: string, as: string | null = OWNER, json?: object) =>
      exchange(baseURL, { request, as, ...(json && { json }) })
    const keep = async (as: string | null, ...ids: string[]) => {
      const query = new URLSearchParams(ids.map((id) => ['id', id]))
      const headers = as === null ? {} : { [USER_HEADER]: as }
      const response = await fetch(`${baseURL}${KEEP}?${query}`, { method: 'POST', headers })
      return { status: response.status, json: (await response.json()) as unknown }
    }
    const fetchStored = (url: string) => {
      const target = new URL(url.replace('http://files.test', baseURL), `${baseURL}/file`)
      return fetch(target)
    }

    /** Begins an upload and sends its bytes. */
    async function sent(filename: string): Promise<DbClientObject> {
      const file = { filename, contentType: 'text/plain', size: 3, ...terms }
      const { json } = await send('POST /upload', OWNER, file)
      const { object, upload } = json as {
        object: DbClientObject
        upload: { url: string; headers: Record<string, string> }
      }
      expect(object).not.toHaveProperty('temporaryUntil')
      const { url, headers } = upload
      const put = await fetch(url.replace('http://files.test', baseURL), {
        ...{ method: 'PUT', headers, body: 'abc' },
      })
      expect(put.status).toBe(200)
      return object
    }
    const confirmed = async ({ key, id }: DbClientObject) => {
      const { status, json } = await send('POST /upload/confirm', OWNER, { key, id, ...terms })
      expect(status).toBe(200)
      return (json as { object: DbClientObject }).object
    }

    beforeAll(async () => {
      baseURL = await serve(withKeepRoute(s3))
      object = await confirmed(await sent('draft.txt'))
      expect(object.temporaryUntil).toBe(until.toISOString())
      clock.moveTo(new Date(until.getTime() - MINUTE))
      urlOfEarlier = ((await send(`GET /download?${ofKey()}`)).json as { url: string }).url
      clock.moveTo(new Date(until.getTime() - 1))
      if (isKept) {
        const { status, json } = await keep(OWNER, object.id)
        expect([status, json]).toEqual([200, [object.key]])
        clock.advance(24 * HOUR)
      }
      if (isGone) clock.advance(1)
    })

    const ofKey = (key = object.key) => `key=${encodeURIComponent(key)}`
    const ofId = (id = object.id) => `id=${id}`

    /** The requests that lead to an object, for an object and for one that doesn't exist. */
    const requests: Readonly<Record<string, readonly [there: () => string, missing: () => string]>> = {
      'GET /download': [() => `GET /download?${ofKey()}`, () => `GET /download?${ofKey('none')}`],
      'GET /file by key': [() => `GET /file?${ofKey()}`, () => `GET /file?${ofKey('none')}`],
      'GET /file by id': [() => `GET /file?${ofId()}`, () => `GET /file?${ofId(UNKNOWN_ID)}`],
      'HEAD /file by key': [() => `HEAD /file?${ofKey()}`, () => `HEAD /file?${ofKey('none')}`],
      'HEAD /file by id': [() => `HEAD /file?${ofId()}`, () => `HEAD /file?${ofId(UNKNOWN_ID)}`],
      'GET /db/object by key': [() => `GET /db/object?${ofKey()}`, () => `GET /db/object?${ofKey('none')}`],
      'GET /db/object by id': [() => `GET /db/object?${ofId()}`, () => `GET /db/object?${ofId(UNKNOWN_ID)}`],
      'PATCH /db/object by key': [
        () => `PATCH /db/object?${ofKey()}`,
        () => `PATCH /db/object?${ofKey('none')}`,
      ],
      'PATCH /db/object by id': [
        () => `PATCH /db/object?${ofId()}`,
        () => `PATCH /db/object?${ofId(UNKNOWN_ID)}`,
      ],
    }
    const seen = async (request: string, as: string | null) => {
      const change = request.startsWith('PATCH') ? { filename: 'renamed.txt', ...terms } : undefined
      const { status, headers, text } = await send(request, as, change)
      return { status, text, headers: [...headers].filter(([name]) => name !== 'date') }
    }

    it('is there for its owner and its readers, or looks like a missing one to all', async () => {
      const open: Record<string, string[]> = {}
      const expected: typeof open = {}
      for (const [who, as] of Object.entries(CALLERS)) {
        const mayRead = as === OWNER || as === FRIEND
        for (const [name, [there, missing]] of Object.entries(requests)) {
          const response = await seen(there(), as)
          if (response.status < 400) (open[who] ??= []).push(name)
          else expect(response, name).toEqual(await seen(missing(), as))
          const isOpen = mayRead && !isGone && (as === OWNER || !name.startsWith('PATCH'))
          if (isOpen) (expected[who] ??= []).push(name)
        }
      }
      expect(open).toEqual(expected)
    })

    it('shows its end to its owner and its readers, where it is listed as well', async () => {
      const end = isKept ? undefined : until.toISOString()
      const listed = async (as: string) => {
        const { objects } = (await send('GET /db/objects', as)).json as { objects: DbClientObject[] }
        return objects.map(({ id, temporaryUntil }) => ({ id, temporaryUntil }))
      }
      expect(await listed(OWNER)).toEqual([{ id: object.id, temporaryUntil: end }])
      expect(await listed(FRIEND)).toEqual([])
      expect((await confirmed(object)).temporaryUntil).toBe(end)
      for (const as of isGone ? [] : [OWNER, FRIEND]) {
        const { json } = await send(`GET /db/object?${ofKey()}`, as)
        expect((json as { object: DbClientObject }).object.temporaryUntil).toBe(end)
      }
      const rules = await send('GET /upload/rules')
      expect(rules.status).toBe(200)
      expect(rules.text).not.toContain('temporary')
    })

    it('has no URL that outlives it', async () => {
      const statusOf = async (url: string) => {
        const response = await fetchStored(url)
        await response.body?.cancel()
        return response.status
      }
      expect((await statusOf(urlOfEarlier)) === 200).toBe(moment === 'a millisecond before its end')
      if (isGone) return
      const { url, expiresAt } = (await send(`GET /download?${ofKey()}`)).json as {
        url: string
        expiresAt: string
      }
      expect(Date.parse(expiresAt) <= until.getTime()).toBe(!isKept)
      expect(await statusOf(url)).toBe(200)
      const { headers } = await send(`GET /file?${ofKey()}`)
      const shown = await fetchStored(headers.get('location')!)
      await shown.body?.cancel()
      const maxAge = Number(/max-age=(\d+)$/.exec(shown.headers.get('cache-control')!)![1])
      expect(maxAge > 0).toBe(isKept)
    })

    it('is kept by its owner alone, all objects of a call or none', async () => {
      const missing = (indexes: string) => ({
        status: 404,
        json: { code: 'OBJECT_NOT_FOUND', params: { missing: indexes } },
      })
      const before = await store.findById({ id: object.id })
      const ofOther = await s3.files.put({
        ...{ scope: 'user:2', filename: 'other.txt', body: 'abc', route: 'drafts' },
      })
      const unconfirmed = await sent('unconfirmed.txt')
      for (const as of ['user:2', FRIEND]) expect(await keep(as, object.id)).toEqual(missing('0'))
      expect((await keep(null, object.id)).status).toBe(401)
      const ids = [object.id, UNKNOWN_ID, ofOther.id, unconfirmed.id]
      expect(await keep(OWNER, ...ids)).toEqual(missing(isGone ? '0,1,2,3' : '1,2,3'))
      for (const wrong of [[], ['draft.txt'], [object.id, object.id]]) {
        expect(await keep(OWNER, ...wrong)).toMatchObject({ status: 400, json: { code: 'VALIDATION_ERROR' } })
      }
      expect(await store.findById({ id: object.id })).toEqual(before)
      expect(await store.findById({ id: ofOther.id })).toEqual(ofOther)
      await send('POST /upload/abort', OWNER, { key: unconfirmed.key, id: unconfirmed.id })
      expect(await keep(OWNER, object.id)).toEqual(
        isGone ? missing('0') : { status: 200, json: [object.key] },
      )
    })

    it('counts until its owner deletes it', async () => {
      expect(await store.getScopeUsage(OWNER)).toMatchObject({ bytes: 3, files: 1 })
      for (const as of ['user:2', FRIEND]) {
        expect((await send(`DELETE /object?${ofKey()}`, as)).json).toEqual(errorOf('OBJECT_NOT_FOUND'))
      }
      expect(await send(`DELETE /object?${ofKey()}`)).toMatchObject({ status: 204, text: '' })
      expect(await store.getScopeUsage(OWNER)).toMatchObject({ bytes: 0, files: 0 })
      const { objects } = (await send('GET /db/objects?status=deleted')).json as { objects: StorageObject[] }
      expect(objects.find(({ id }) => id === object.id)).not.toHaveProperty('temporaryUntil')
    })
  })
}

/** The route of an application that saves a form: it keeps the ids of its query for the caller. */
const KEEP = '/keep'

function withKeepRoute(s3: Served & { readonly db: DbContext }): Served {
  const handler: Handler = async (request, options) => {
    const { pathname, searchParams } = new URL(request.url)
    if (!pathname.endsWith(KEEP)) return s3.handler(request, options)
    try {
      const rows = await s3.db.keep(request, { ids: searchParams.getAll('id') })
      return Response.json(rows.map(({ key }) => key))
    } catch (error) {
      if (!(error instanceof StorageError)) throw error
      const { status, code, params } = error
      return Response.json({ code, params }, { status })
    }
  }
  return { basePath: s3.basePath, handler }
}
