import {
  createObjectAccessGuard,
  createS3Server,
  db,
  memoryStorage,
  type DbClientObject,
  type StorageObject,
  type StorageObjectStore,
} from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { beforeAll, describe, expect, it } from 'vitest'
import { exchange } from './exchange.js'
import { scopeOf, USER_HEADER, type Serve } from './fixture.js'
import { CALLERS, FRIEND, letFriendRead, OWNER } from './readers.js'

/** Which version a call leads to. */
type Version = 'old' | 'new' | null

const OLD = 1
const NEW = 2
const versionOf = (byte: number | undefined): Version => (byte === OLD ? 'old' : byte === NEW ? 'new' : null)

const KINDS = ['a new key', 'a replacement'] as const
const MOMENTS = ['before the verdict', 'after reject', 'after accept'] as const

const openWithEvents = (): StorageObjectStore => memoryAdapter({ events: true })

/** Tests that no call leads to bytes, or to a URL of bytes, that wait for their check or have failed it. */
export function describeCheckedDoors(serve: Serve, open = openWithEvents): void {
  describe.each(KINDS)('a checked upload to %s', (kind) => {
    describe.each(MOMENTS)('%s', (moment) => {
      const isReplacement = kind === 'a replacement'
      const isAccepted = moment === 'after accept'
      /** What those see who may read the object. */
      const visible: Version = isAccepted ? 'new' : isReplacement ? 'old' : null
      /** The same, for calls that name the attempt. */
      const ofAttempt: Version = isAccepted ? 'new' : null
      /** For calls that name an object by its id, which is the attempt's only if nothing was replaced. */
      const byId: Version = isReplacement ? null : ofAttempt

      const store = open()
      const storage = memoryStorage({ baseURL: 'http://files.test/_storage' })
      const s3 = createS3Server({
        storage,
        bucket: 'files',
        routes: { docs: { key: () => 'report', overwrite: true, check: true } },
        plugins: [
          db({
            client: store,
            resolveScope: scopeOf,
            update: true,
            mayRead: letFriendRead,
          }),
        ],
        onError: () => undefined,
      })
      let baseURL: string
      let attempt: DbClientObject
      let older: StorageObject | null = null
      let signedBefore: string | null = null
      const send = (request: string, as: string | null = OWNER, json?: object) =>
        exchange(baseURL, { request, as, ...(json && { json }) })

      beforeAll(async () => {
        baseURL = await serve(s3)
        const file = { filename: 'a.txt', contentType: 'text/plain' }
        if (isReplacement) {
          older = await s3.files.put({ ...file, scope: OWNER, body: new Uint8Array(3).fill(OLD) })
          signedBefore = (await s3.files.downloadURL({ key: older.key })).url
        }
        const begun = (await send('POST /upload', OWNER, { ...file, size: 3 })).json as {
          object: DbClientObject
          upload: { url: string; headers: Record<string, string> }
        }
        const { url, headers } = begun.upload
        const put = await fetch(url.replace('http://files.test', baseURL), {
          ...{ method: 'PUT', headers, body: new Uint8Array(3).fill(NEW) },
        })
        expect(put.status).toBe(200)
        const { key, id } = begun.object
        const confirmed = await send('POST /upload/confirm', OWNER, { key, id })
        expect(confirmed.json).toMatchObject({ object: { id, status: 'pending', checking: true } })
        attempt = begun.object
        if (moment === 'after reject') await s3.files.reject({ key, attemptId: id })
        if (isAccepted) await s3.files.accept({ key, attemptId: id })
      })

      /** Reads the first byte behind a URL. */
      async function behind(url: string): Promise<Version> {
        const target = new URL(url.replace('http://files.test', baseURL), `${baseURL}/file`)
        const response = await fetch(target)
        return response.ok ? versionOf(new Uint8Array(await response.arrayBuffer())[0]) : null
      }
      const ofError = (error: unknown): null => {
        expect(error).toMatchObject({ code: 'OBJECT_NOT_FOUND' })
        return null
      }
      const ofRow = (row: StorageObject): Version =>
        row.attemptId === attempt.id ? 'new' : row.attemptId === older?.attemptId ? 'old' : null

      const named = () => ({ key: `key=${attempt.key}`, id: `id=${attempt.id}` })
      /** The requests that lead to bytes, by what they name. */
      const requests = {
        'GET /download by key': async (as: string | null) => {
          const { status, json } = await send(`GET /download?${named().key}`, as)
          return status === 200 ? behind((json as { url: string }).url) : null
        },
        'GET /file by key': (as: string | null) => redirected(`GET /file?${named().key}`, as),
        'GET /file by id': (as: string | null) => redirected(`GET /file?${named().id}`, as),
        'HEAD /file by key': (as: string | null) => described(`HEAD /file?${named().key}`, as),
        'HEAD /file by id': (as: string | null) => described(`HEAD /file?${named().id}`, as),
      }
      async function redirected(request: string, as: string | null): Promise<Version> {
        const { status, headers } = await send(request, as)
        return status === 302 ? behind(headers.get('location')!) : null
      }
      /** Both versions have one size, so the ETag tells them apart. */
      async function described(request: string, as: string | null): Promise<Version> {
        const { status, headers } = await send(request, as)
        if (status !== 200) return null
        return headers.get('etag') === older?.eTag ? 'old' : 'new'
      }

      it('is what its requests show', async () => {
        const seen: Record<string, Record<string, Version>> = {}
        const expected: typeof seen = {}
        for (const [who, as] of Object.entries(CALLERS)) {
          const mayRead = who === 'owner' || who === 'whom mayRead allows'
          for (const [name, ask] of Object.entries(requests)) {
            ;(seen[who] ??= {})[name] = await ask(as)
            const version = name.endsWith('by id') ? byId : visible
            ;(expected[who] ??= {})[name] = mayRead ? version : null
          }
        }
        expect(seen).toEqual(expected)
      })

      it('is what the calls of the server show', async () => {
        const { key, id: attemptId } = attempt
        const get = (more: object) =>
          s3.files.get({ key, ...more }).then(async ({ body }) => {
            return versionOf(new Uint8Array(await new Response(body).arrayBuffer())[0])
          }, ofError)
        const url = (more: object) =>
          s3.files.downloadURL({ key, ...more }).then(({ url }) => behind(url), ofError)
        const waiting: Version = moment === 'before the verdict' ? 'new' : null
        for (const call of [get, url]) {
          expect(await call({})).toBe(visible)
          expect(await call({ attemptId })).toBe(ofAttempt)
          expect(await call({ scope: 'user:2' })).toBeNull()
          expect(await call({ attemptId, arrived: true })).toBe(waiting)
          expect(await call({ attemptId, arrived: true, scope: 'user:2' })).toBeNull()
        }
      })

      it('is not what a URL shows that was signed before', async () => {
        if (signedBefore !== null) expect(await behind(signedBefore)).toBe('old')
      })

      it('is what guards of own routes show', async () => {
        const request = new Request('http://app.test', { headers: { [USER_HEADER]: OWNER } })
        for (const status of ['active', 'any'] as const) {
          for (const authorize of [null, () => true]) {
            const guard = createObjectAccessGuard({
              client: store,
              resolveScope: scopeOf,
              status,
              authorize,
            })
            const shown = guard({ request, bucket: 'files', key: attempt.key }).then(ofRow, ofError)
            expect(await shown).toBe(visible)
          }
        }
      })

      it('is what its record shows, which only its owner gets while it waits', async () => {
        const record = async (query: string, as: string | null) => {
          const { status, json } = await send(`GET /db/object?${query}`, as)
          if (status !== 200) return null
          const { object } = json as { object: DbClientObject }
          return object.checking ? 'checking' : object.status
        }
        const { key, id } = named()
        const isWaiting = moment === 'before the verdict'
        expect(await record(id, OWNER)).toBe(isWaiting ? 'checking' : byId && 'active')
        expect(await record(key, OWNER)).toBe(visible ? 'active' : isWaiting ? 'checking' : null)
        expect(await record(id, FRIEND)).toBe(byId && 'active')
        expect(await record(key, FRIEND)).toBe(visible && 'active')
        for (const as of ['user:2', null]) {
          expect([await record(id, as), await record(key, as)]).toEqual([null, null])
        }
        const changed = await send(`PATCH /db/object?${id}`, OWNER, { filename: 'b.txt' })
        expect(changed.status).toBe(byId ? 200 : 404)
        const byKey = await send(`PATCH /db/object?${key}`, OWNER, { filename: 'c.txt' })
        expect(byKey.status).toBe(visible ? 200 : 404)
        if (isWaiting) expect((await store.findPending(attempt))!.filename).toBe('a.txt')
        const pending = (await send('GET /db/objects?status=pending')).json as { objects: DbClientObject[] }
        expect(pending.objects).toEqual(
          isWaiting ? [expect.objectContaining({ id: attempt.id, checking: true })] : [],
        )
      })

      if (moment !== 'before the verdict') return
      it('has a short-lived URL of an attachment', async () => {
        const { key, id: attemptId } = attempt
        const wanted = { arrived: true, disposition: 'inline', expiresIn: 3600 } as const
        const { url, expiresAt } = await s3.files.downloadURL({ key, attemptId, ...wanted })
        expect(expiresAt.getTime()).toBeLessThanOrEqual(Date.now() + 900_000)
        const response = await fetch(url.replace('http://files.test', baseURL))
        expect(response.headers.get('content-disposition')).toMatch(/^attachment/)
        await response.body?.cancel()
        await expect(s3.files.get({ key, arrived: true })).rejects.toMatchObject({
          ...{ code: 'VALIDATION_ERROR', params: { field: 'attemptId' } },
        })
      })
    })
  })
}
