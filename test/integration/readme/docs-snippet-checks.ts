import { CreateBucketCommand, DeleteBucketCommand, S3Client } from '@aws-sdk/client-s3'
import type { Server } from 'node:http'
import type { Express } from 'express'
import type { Redis } from 'ioredis'
import { createS3Server, db, type Handler, type StorageObject, type StorageObjectStore } from '@svc/db'
import { createS3Client } from '@svc/db/client'
import { diskStorage } from '@svc/db/disk'
import { memoryAdapter } from '@svc/db/memory'
import { expect, inject, vi } from 'vitest'
import { passingTests, run, type SnippetCheck } from './programs.js'
import { isTracedAndMeasured, worksWithoutAnSdk } from './telemetry-check.js'
import { originOf } from './running-servers.js'

const signedInAs = (scope: string) => ({ 'x-signed-in-as': scope })

const sharesWhatIsPublic: SnippetCheck = async (program) => {
  const { app } = await run<{ app: Express }>(program)
  const origin = await originOf(app.listen(0))
  const size = (key: string, headers = {}) => fetch(`${origin}/size?key=${key}`, { headers })

  expect(await (await size('poster.png')).json()).toEqual({ size: 900 })
  expect(await (await size('diary.txt', signedInAs('user:ann'))).json()).toEqual({ size: 40 })
  for (const answer of [await size('diary.txt'), await size('nothing.txt', signedInAs('user:ann'))]) {
    expect(answer.status).toBe(404)
    expect(await answer.json()).toMatchObject({ code: 'OBJECT_NOT_FOUND' })
  }
}

const guardsUploads: SnippetCheck = async (program) => {
  const { s3 } = await run<{ s3: { handler: Handler } }>(program)
  const upload = async (scope: string, filename: string) => {
    const answer = await s3.handler(
      new Request('http://app.test/api/s3/upload', {
        method: 'POST',
        headers: { ...signedInAs(scope), 'content-type': 'application/json' },
        body: JSON.stringify({ filename, contentType: 'application/octet-stream', size: 10 }),
      }),
    )
    return { status: answer.status, body: (await answer.json()) as object }
  }

  const allowed = await upload('user:ann', 'notes.bin')
  expect(allowed).toMatchObject({ status: 201, body: { object: { key: 'user:ann/notes.bin' } } })
  expect(await upload('user:ann', 'game.exe')).toMatchObject({ status: 415 })
  const suspended = await upload('user:mallory', 'notes.bin')
  expect(suspended).toMatchObject({ status: 403, body: { message: 'Your account rests.' } })
}

const receivesReports: SnippetCheck = async (program) => {
  const { storage, receiveReport } = await run<{
    storage: { handler: Handler }
    receiveReport: (request: Request, name: string) => Promise<StorageObject>
  }>(program)
  const report = (headers: Record<string, string>) =>
    new Request('http://app.test/reports', { method: 'POST', headers, body: 'all is well' })

  const object = await receiveReport(report(signedInAs('user:ann')), 'week-1.txt')
  expect(object).toMatchObject({ status: 'active', scope: 'user:ann', bucket: 'reports', size: 11 })
  await expect(receiveReport(report({}), 'week-2.txt')).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
  const list = await storage.handler(
    new Request('http://app.test/api/s3/db/objects', { headers: signedInAs('user:ann') }),
  )
  expect(await list.json()).toMatchObject({ objects: [{ key: 'week-1.txt' }] })
}

const survivesRestart: SnippetCheck = async (program) => {
  const { s3 } = await run<{ s3: { handler: Handler } }>(program)
  const { api } = createS3Client({
    baseURL: 'http://app.test',
    plugins: [],
    fetch: (input, init) => s3.handler(new Request(input, init)),
  })
  const { key } = await api.upload(new File(['kept'], 'kept.txt', { type: 'text/plain' }))
  const { url } = await api.download({ key })

  // As the server of another process, which has none of the records; the link says all that is needed.
  const storage = diskStorage({ directory: process.env['FILES_FOLDER']! })
  const plugins = [db({ client: memoryAdapter(), resolveScope: () => null })] as const
  const { handler } = createS3Server({ storage, bucket: 'uploads', plugins })
  expect(await (await handler(new Request(url))).text()).toBe('kept')
}

/** With a browser's part of an upload, against the S3 service of the tests. */
const storesInBucket: SnippetCheck = async (program) => {
  const server = inject('s3')
  if (server.url === null) return console.warn(`Not run: docs/s3.md#bucket.ts. There is ${server.reason}`)
  const { origin, username, password } = new URL(server.url)
  const bucket = `svc-db-docs-${Date.now()}`
  const settings = {
    AWS_ENDPOINT_URL_S3: origin,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: decodeURIComponent(username),
    AWS_SECRET_ACCESS_KEY: decodeURIComponent(password),
    AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
    S3_PATH_STYLE: 'true',
    S3_BUCKET: bucket,
  }
  for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value)
  const client = new S3Client({ forcePathStyle: true })
  await client.send(new CreateBucketCommand({ Bucket: bucket }))

  const { s3 } = await run<{ s3: { handler: Handler } }>(program)
  const ask = (method: string, path: string, body?: object) =>
    s3.handler(
      new Request(`http://app.test/api/s3${path}`, {
        method,
        headers: { ...signedInAs('user:ann'), 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      }),
    )
  const file = { filename: 'ü.txt', contentType: 'text/plain', size: 5 }
  const { object, upload } = (await (await ask('POST', '/upload', file)).json()) as {
    object: { key: string; id: string }
    upload: { url: string; headers: Record<string, string> }
  }
  expect(upload.url.startsWith(`${origin}/${bucket}/`)).toBe(true)
  const sent = await fetch(upload.url, { method: 'PUT', headers: upload.headers, body: 'hello' })
  expect(sent.status).toBe(200)
  const { key, id } = object
  expect((await ask('POST', '/upload/confirm', { key, id })).status).toBe(200)
  const download = await ask('GET', `/download?key=${encodeURIComponent(key)}`)
  const { url } = (await download.json()) as { url: string }
  expect(await (await fetch(url)).text()).toBe('hello')
  expect((await ask('DELETE', `/object?key=${encodeURIComponent(key)}`)).status).toBe(204)
  await client.send(new DeleteBucketCommand({ Bucket: bucket }))
  client.destroy()
}

const servesItsDescription: SnippetCheck = async (program) => {
  const { app } = await run<{ app: Express }>(program)
  const origin = await originOf(app.listen(0))
  const answer = await fetch(`${origin}/openapi.json`)
  expect(await answer.json()).toMatchObject({
    openapi: '3.1.0',
    info: { title: 'Files' },
    servers: [{ url: 'https://app.example/api/s3' }],
    paths: { '/upload': { post: { operationId: 'upload' } }, '/db/objects': { get: {} } },
    security: [{ session: [] }],
  })
}

const servesTenants: SnippetCheck = async (program) => {
  const { app } = await run<{ app: Express }>(program)
  const origin = await originOf(app.listen(0))
  expect(await (await fetch(`${origin}/acme/health`)).text()).toBe('ok')
  const list = (tenant: string, headers = {}) =>
    fetch(`${origin}/${tenant}/api/s3/db/objects?status=pending`, { headers })
  expect((await list('acme')).status).toBe(401)

  const ann = signedInAs('ann')
  const announced = await fetch(`${origin}/acme/api/s3/upload`, {
    method: 'POST',
    headers: { ...ann, 'content-type': 'application/json' },
    body: JSON.stringify({ filename: 'a.txt', contentType: 'text/plain', size: 1 }),
  })
  const { upload } = (await announced.json()) as { upload: { url: string } }
  expect(upload.url.startsWith(`${origin}/acme/api/s3/_storage/`)).toBe(true)
  expect(((await (await list('acme', ann)).json()) as { objects: [] }).objects.length).toBe(1)
  expect(await (await list('other', ann)).json()).toEqual({ objects: [] })
}

const servesByKoa: SnippetCheck = async (program) => {
  const { server } = await run<{ server: Server }>(program)
  const origin = await originOf(server)
  expect((await fetch(`${origin}/api/s3/db/objects`)).status).toBe(401)
  const signedIn = await fetch(`${origin}/sign-in`, { method: 'POST' })
  expect(signedIn.status).toBe(204)
  const cookies = signedIn.headers.getSetCookie().map((line) => line.split(';')[0])
  const list = await fetch(`${origin}/api/s3/db/objects`, { headers: { cookie: cookies.join('; ') } })
  expect(await list.json()).toEqual({ objects: [] })
  expect((await fetch(`${origin}/elsewhere`)).status).toBe(404)
}

const guardsNotes: SnippetCheck = async (program) => {
  const { readNote, writeNote, checkCopy } = await run<{
    readNote: (request: Request, key: string) => Promise<StorageObject>
    writeNote: (request: Request, key: string, text: string, readers?: string) => Promise<StorageObject>
    checkCopy: (request: Request, key: string, size: number) => Promise<void>
  }>(program)
  const by = (scope?: string) =>
    new Request('http://app.test/notes', scope === undefined ? {} : { headers: signedInAs(scope) })

  await writeNote(by('ann'), 'diary', 'private')
  await writeNote(by('ann'), 'plan', 'to the sea', 'bob carl')
  await writeNote(by('ann'), 'poster', 'come all', 'everybody')
  expect(await readNote(by('bob'), 'plan')).toMatchObject({ scope: 'ann', size: 10 })
  expect(await readNote(by(), 'poster')).toMatchObject({ key: 'poster' })
  for (const [reader, key] of [['bob', 'diary'] as const, ['eve', 'plan'] as const]) {
    await expect(readNote(by(reader), key)).rejects.toMatchObject({ code: 'OBJECT_NOT_FOUND' })
  }
  await checkCopy(by('bob'), 'plan', 10)
  await expect(checkCopy(by('bob'), 'plan', 1_000_001)).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
  await expect(checkCopy(by('bob'), 'diary', 1_000_001)).rejects.toMatchObject({ code: 'OBJECT_NOT_FOUND' })
}

/** Where there is no Redis the store works all the same, as its document says. */
const cachesUsage: SnippetCheck = async (program) => {
  vi.stubEnv('REDIS_URL', inject('redis').url ?? 'redis://127.0.0.1:1')
  const { redis, store } = await run<{ redis: Redis; store: StorageObjectStore }>(program)
  const input = { scope: 'user:ann', bucket: 'files', key: 'a', declaredSize: 5 }
  await store.reserve({ ...input, expiresAt: new Date(Date.now() + 60_000) })
  for (let read = 0; read < 2; read++) {
    expect(await store.getScopeUsage('user:ann')).toMatchObject({ reservedBytes: 5, reservedFiles: 1 })
  }
  await store.close()
  redis.disconnect()
}

export const checkDocsSnippets: Readonly<Record<string, SnippetCheck>> = {
  'docs/custom-routes.md#shared-files.ts': sharesWhatIsPublic,
  'docs/custom-routes.md#team-guards.ts': guardsNotes,
  'docs/express.md#nested-routers.ts': servesTenants,
  'docs/koa.md#koa-server.ts': servesByKoa,
  'docs/custom-routes.md#guarded-server.ts': guardsUploads,
  'docs/custom-routes.md#own-uploads.ts': receivesReports,
  'docs/storages.md#local-files.ts': survivesRestart,
  'docs/s3.md#bucket.ts': storesInBucket,
  'docs/http-api.md#openapi.ts': servesItsDescription,
  'docs/observability.md#telemetry.ts': isTracedAndMeasured,
  'docs/observability.md#server.ts': worksWithoutAnSdk,
  'docs/redis.md#cached-store.ts': cachesUsage,
  'docs/testing-your-app.md#lapse.test.ts': passingTests(1),
  'docs/testing-your-app.md#upload.test.ts': passingTests(1),
  'docs/writing-an-adapter.md#my-adapter.test.ts': passingTests(50),
}
