import type { Server } from 'node:http'
import type { Express } from 'express'
import { expect, vi } from 'vitest'
import {
  memoryStorage,
  type DbClientObject,
  type Handler,
  type ObjectStorage,
  type StorageObjectStore,
} from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { until } from '../../../until.js'
import { passingTests, run, runSibling, type SnippetCheck, type SnippetChecks } from '../programs.js'
import { originOf } from '../running-servers.js'
import { withFile } from './sqlite.js'

interface AppProgram {
  readonly createApp: (parts: { client: StorageObjectStore; storage: ObjectStorage }) => { app: Express }
}

interface ServerProgram {
  readonly server: Server
}

interface S3Program {
  readonly app: Express
  readonly s3: { readonly handler: Handler; readonly db: { readonly objects: StorageObjectStore } }
  readonly summary: (scope: string) => Promise<object>
}

interface FilesProgram {
  readonly uploadFile: (file: File, show: (text: string) => void) => Promise<DbClientObject | null>
  readonly allFiles: () => Promise<DbClientObject[]>
  readonly linkTo: (file: DbClientObject) => Promise<string>
  readonly deleteFile: (file: DbClientObject) => Promise<void>
}

interface StartedUpload {
  readonly object: DbClientObject
  readonly upload: { readonly method: string; readonly url: string; readonly headers: Record<string, string> }
}

const ann = { authorization: 'Bearer secret-of-ann' }
const bob = { authorization: 'Bearer secret-of-bob' }
const A_DAY = 24 * 60 * 60 * 1000

function postAsAnn(body: object): RequestInit {
  return {
    method: 'POST',
    headers: { ...ann, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }
}

const servesUploads: SnippetCheck = async (program) => {
  const { createApp } = await run<AppProgram>(program)
  const origin = await originOf(
    createApp({ client: memoryAdapter(), storage: memoryStorage() }).app.listen(0),
  )
  const api = `${origin}/api/s3`
  expect((await fetch(`${api}/db/objects`)).status).toBe(401)

  const file = { route: 'avatars', filename: 'me.png', contentType: 'image/png', size: 3 }
  const refused = await fetch(`${api}/upload`, postAsAnn({ ...file, contentType: 'text/plain' }))
  expect(refused.status).toBe(415)

  const started = await fetch(`${api}/upload`, postAsAnn(file))
  expect(started.status).toBe(201)
  const { object, upload } = (await started.json()) as StartedUpload
  const sent = await fetch(upload.url, { method: upload.method, headers: upload.headers, body: 'png' })
  expect(sent.status).toBe(200)
  const confirmed = await fetch(`${api}/upload/confirm`, postAsAnn({ key: object.key, id: object.id }))
  expect(confirmed.status).toBe(200)

  const list = async (headers: Record<string, string>) =>
    (await (await fetch(`${api}/db/objects`, { headers })).json()) as { objects: DbClientObject[] }
  expect((await list(ann)).objects).toMatchObject([{ filename: 'me.png', size: 3, status: 'active' }])
  expect((await list(bob)).objects).toEqual([])
}

const serves: SnippetCheck = async (program) => {
  const { s3 } = await run<S3Program>(program)
  const list = await s3.handler(new Request('http://app.test/api/s3/db/objects', { headers: ann }))
  expect(list.status).toBe(200)
}

const servesAndSummarizes: SnippetCheck = async (program) => {
  await serves(program)
  const { summary } = await run<S3Program>(program)
  expect(await summary('user:unknown')).toEqual({ bytes: 0, files: 0, reservedBytes: 0, deleted: 0 })
}

const listens: SnippetCheck = async (program) => {
  const { server } = await run<ServerProgram>(program)
  const list = await fetch(`${await originOf(server)}/api/s3/db/objects`, { headers: ann })
  expect(list.status).toBe(200)
}

/** Signs in and resolves to the cookie header that a browser would send from then on. */
async function sessionAt(origin: string): Promise<{ cookie: string }> {
  const signedIn = await fetch(`${origin}/sign-in`, { method: 'POST' })
  expect(signedIn.status).toBe(204)
  return { cookie: signedIn.headers.getSetCookie().join('; ').split(';')[0]! }
}

const servesBesideOtherExpressRoutes: SnippetCheck = async (program) => {
  const { server } = await run<ServerProgram>(program)
  const origin = await originOf(server)
  expect(await (await fetch(`${origin}/api/health`)).text()).toBe('ok')
  expect((await fetch(`${origin}/api/s3/db/objects`)).status).toBe(401)

  const session = await sessionAt(origin)
  const started = await fetch(`${origin}/api/s3/upload`, {
    method: 'POST',
    headers: { ...session, 'content-type': 'application/json' },
    body: JSON.stringify({ filename: 'settings.json', contentType: 'application/json', size: 2 }),
  })
  expect(started.status).toBe(201)
  // The type that the server's own body parser consumes.
  const { upload } = (await started.json()) as StartedUpload
  const sent = await fetch(upload.url, { method: upload.method, headers: upload.headers, body: '{}' })
  expect(sent.status).toBe(200)
  expect((await fetch(`${origin}/api/elsewhere`)).status).toBe(404)
}

const servesBesideOtherKoaMiddleware: SnippetCheck = async (program) => {
  const { server } = await run<ServerProgram>(program)
  const origin = await originOf(server)
  expect((await fetch(`${origin}/api/s3/db/objects`)).status).toBe(401)
  const list = await fetch(`${origin}/api/s3/db/objects`, { headers: { 'x-signed-in-as': 'ann' } })
  expect(await list.json()).toEqual({ objects: [] })
  expect(await (await fetch(`${origin}/elsewhere`)).text()).toBe('the rest of your server')
}

/** Imitates a browser: relative URLs are resolved against the page. */
const worksInBrowser: SnippetCheck = async (program) => {
  const { createApp } = await runSibling<AppProgram>(program, 'app.mjs')
  const client = memoryAdapter()
  const origin = await originOf(createApp({ client, storage: memoryStorage() }).app.listen(0))
  const realFetch = globalThis.fetch
  vi.stubGlobal('location', new URL(origin))
  vi.stubGlobal('fetch', (input: string, init?: RequestInit) => realFetch(new URL(input, origin), init))
  const { uploadFile, allFiles, linkTo, deleteFile } = await run<FilesProgram>(program)
  const shown: string[] = []
  const file = await uploadFile(new File(['hello'], 'hello.txt', { type: 'text/plain' }), (text) =>
    shown.push(text),
  )
  expect(file).toMatchObject({ filename: 'hello.txt', size: 5, status: 'active' })
  expect(shown.at(-1)).toBe('5 of 5 bytes')
  expect(await allFiles()).toEqual([file])
  expect(await (await realFetch(await linkTo(file!))).text()).toBe('hello')
  await deleteFile(file!)
  expect(await allFiles()).toEqual([])

  const film = { bucket: 'uploads', key: 'ann/film.mp4' }
  const expiresAt = new Date(Date.now() + A_DAY)
  await client.reserve({ ...film, scope: 'user:ann', declaredSize: 90_000_000, expiresAt })
  await client.confirm({ ...film, size: 90_000_000 })
  const large = Object.defineProperty(new File([], 'large.bin'), 'size', { value: 40_000_000 })
  expect(await uploadFile(large, (text) => shown.push(text))).toBeNull()
  expect(shown.at(-1)).toBe('There is not enough space left.')
}

const releasesExpiredUploads: SnippetCheck = async (program) => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'] })
  const { job } = await run<{ job: NodeJS.Timeout }>(program)
  const { s3 } = await runSibling<S3Program>(program, 's3.mjs')
  const file = { route: 'documents', filename: 'abandoned.txt', contentType: 'text/plain', size: 500 }
  await s3.handler(new Request('http://app.test/api/s3/upload', postAsAnn(file)))
  const reserved = async () => (await s3.db.objects.getScopeUsage('user:ann')).reservedBytes
  expect(await reserved()).toBe(500)

  vi.setSystemTime(Date.now() + A_DAY)
  vi.advanceTimersToNextTimer()
  await until(async () => (await reserved()) === 0)
  clearInterval(job)
}

const guardsOwnRoute: SnippetCheck = async (program) => {
  await run(program)
  const { app, s3 } = await runSibling<S3Program>(program, 's3.mjs')
  const reference = { bucket: 'uploads', key: 'ann/face.png' }
  const expiresAt = new Date(Date.now() + A_DAY)
  await s3.db.objects.reserve({ ...reference, scope: 'user:ann', declaredSize: 7, expiresAt })
  await s3.db.objects.confirm({ ...reference, size: 7 })

  const thumbnail = `${await originOf(app.listen(0))}/thumbnail?key=ann/face.png`
  const own = await fetch(thumbnail, { headers: ann })
  expect(await own.json()).toEqual({ name: 'ann/face.png', size: 7 })
  expect((await fetch(thumbnail, { headers: bob })).status).toBe(404)
  expect((await fetch(thumbnail)).status).toBe(401)
}

export const gettingStartedChecks: SnippetChecks = {
  'docs/getting-started.md#app.ts': servesUploads,
  'docs/getting-started.md#s3.ts': { onPostgres: servesAndSummarizes },
  'docs/getting-started.md#sqlite-s3.ts': withFile(serves),
  'docs/getting-started.md#server.ts': { onPostgres: listens },
  'docs/getting-started.md#app.test.ts': passingTests(2),
  'docs/getting-started.md#existing-server.ts': servesBesideOtherExpressRoutes,
  'docs/getting-started.md#existing-koa-server.ts': servesBesideOtherKoaMiddleware,
  'docs/getting-started.md#files.ts': worksInBrowser,
  'docs/getting-started.md#clean-up-job.ts': { onPostgres: releasesExpiredUploads },
  'docs/getting-started.md#thumbnail-route.ts': { onPostgres: guardsOwnRoute },
}
