import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import type { Express } from 'express'
import sharp from 'sharp'
import {
  deliverEvents,
  type DeliverEventsResult,
  type EventHandler,
  type ObjectMetadata,
  type S3ServerCore,
  type StorageObjectStore,
  type StoredEvent,
} from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import pg from 'pg'
import { expect, vi } from 'vitest'
import { run, runSibling, type SnippetCheck, type SnippetChecks } from '../programs.js'
import { originOf } from '../running-servers.js'
import { uploadTo } from '../store-programs.js'
import { clientOf, type HandlerProgram } from './app-client.js'
import { withBucket } from './bucket-of-tests.js'

interface ServerProgram extends HandlerProgram {
  readonly client: StorageObjectStore
}

async function untilDelivered(store: StorageObjectStore): Promise<void> {
  for (;;) {
    const { waiting, claimed, retrying } = await store.countEvents()
    if (waiting + claimed + retrying === 0) return
    await new Promise((resolve) => setImmediate(resolve))
  }
}

const textFile = (text: string) => new File([text], 'note.txt', { type: 'text/plain' })

const logsChanges: SnippetCheck = async (program) => {
  const log = vi.spyOn(console, 'log').mockReturnValue()
  const server = await run<ServerProgram>(program)
  const api = clientOf(server, 'ann')
  const { key } = await api.upload(textFile('hello'))
  await untilDelivered(server.client)
  await api.delete({ key })
  await untilDelivered(server.client)
  expect(log.mock.calls).toEqual([[`${key} was activated.`], [`${key} was deleted.`]])
}

const deliversUntilStopped: SnippetCheck = async (program) => {
  const log = vi.spyOn(console, 'log').mockReturnValue()
  const before = process.listeners('SIGTERM')
  const { client } = await runSibling<ServerProgram>(program, 'server.mjs')
  await uploadTo(client, 'user:worker')
  const { done } = await run<{ done: Promise<DeliverEventsResult> }>(program)
  await untilDelivered(client)
  // Only the listener of this program, because others may have ended already.
  for (const listener of process.listeners('SIGTERM').filter((added) => !before.includes(added))) {
    process.off('SIGTERM', listener)
    listener('SIGTERM')
  }
  expect(await done).toEqual({ delivered: 1, failed: [] })
  expect(log.mock.calls).toEqual([['user:worker/a.txt was activated.']])
}

interface TwoKinds {
  readonly onEvent: EventHandler
  readonly index: ReadonlyMap<string, string>
  readonly notifications: readonly string[]
}

const handlesInTwoWays: SnippetCheck = async (program) => {
  const { onEvent, index, notifications } = await run<TwoKinds>(program)
  const store = memoryAdapter({ events: true })
  await uploadTo(store, 'ann')
  const errors: unknown[] = []
  const deliver = () => deliverEvents(store, { onEvent, onError: (error) => void errors.push(error) })
  vi.stubEnv('WEBHOOK_IS_DOWN', 'yes')
  expect(await deliver()).toMatchObject({ delivered: 0, failed: [{ key: 'ann/a.txt' }] })
  expect([...index.values()]).toEqual(['ann/a.txt'])
  expect(errors).toEqual([new Error('The webhook does not respond.')])
  vi.stubEnv('WEBHOOK_IS_DOWN', '')
  while ((await deliver()).delivered === 0) await new Promise((resolve) => setTimeout(resolve, 20))
  expect(notifications).toEqual([expect.stringMatching(/ activated$/)])
  expect(errors).toHaveLength(1)
}

/** The plan of the owner has room for two files, and both are there. */
const improvesFiles: SnippetCheck = async (program) => {
  const server = await run<ServerProgram & { readonly s3: Pick<S3ServerCore, 'files'> }>(program)
  const { client, s3 } = server
  const api = clientOf(server, 'ann')
  const upload = async (width: number, metadata?: ObjectMetadata) => {
    const noise = { type: 'gaussian', mean: 128, sigma: 30 } as const
    const options = { create: { width, height: 10, channels: 3, background: 'teal', noise } } as const
    const picture = new Uint8Array(await sharp(options).png().toBuffer())
    return api.upload(new File([picture], 'sea.png', { type: 'image/png' }), { metadata })
  }
  await expect(upload(20, { improved: 'yes' })).rejects.toMatchObject({ code: 'VALIDATION_ERROR' })
  const put = s3.files.put.bind(s3.files)
  const [large] = [await upload(2000), await upload(3)]
  await untilDelivered(client)
  const { object, body } = await s3.files.get({ key: large.key })
  expect(object).toMatchObject({ scope: 'ann', filename: 'sea.png', metadata: { improved: 'yes' } })
  expect((await sharp(await new Response(body).arrayBuffer()).metadata()).width).toBe(1000)
  expect(object.size).toBeLessThan(large.size!)
  await expect(upload(2000)).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })

  await api.delete({ key: large.key })
  // It is deleted while it is being improved.
  const spy = vi.spyOn(s3.files, 'put').mockImplementationOnce(async (input) => {
    await api.delete({ key: input.key! })
    return put(input)
  })
  const { key } = await upload(2000)
  await untilDelivered(client)
  expect(spy).toHaveBeenCalledOnce()
  expect(await client.findActive({ bucket: 'uploads', key })).toBeNull()
  expect(await client.countByScope('ann', 'active')).toBe(1)
}

const makesThumbnails = withBucket('docs/events.md#thumbnails.ts', async (program, { bucket }) => {
  const server = await run<ServerProgram & { readonly s3: Pick<S3ServerCore, 'files'> }>(program)
  const { client, s3 } = server
  const api = clientOf(server, 'ann')
  const options = { create: { width: 600, height: 300, channels: 3, background: 'teal' } } as const
  const picture = await sharp(options).png().toBuffer()
  const upload = async (bytes: Uint8Array<ArrayBuffer>) => {
    const { key } = await api.upload(new File([bytes], 'sea.png', { type: 'image/png' }))
    await untilDelivered(client)
    return { key, thumbnail: `${key}.thumbnail` }
  }
  const forged = api.upload(textFile('<script>'), { route: 'thumbnails' })
  await expect(forged).rejects.toMatchObject({ code: 'VALIDATION_ERROR', params: { field: 'route' } })
  const { key, thumbnail } = await upload(new Uint8Array(picture))
  const { object, body } = await s3.files.get({ key: thumbnail })
  expect(object).toMatchObject({ scope: 'ann', route: 'thumbnails', contentType: 'image/webp' })
  const shrunk = await sharp(await new Response(body).arrayBuffer()).metadata()
  expect(shrunk).toMatchObject({ format: 'webp', width: 200, height: 100 })

  const broken = await upload(new Uint8Array(100))
  expect(await client.findActive({ bucket, key: broken.thumbnail })).toBeNull()
  // The plan has room for four files. This is the fourth, and its thumbnail the fifth.
  const second = await upload(new Uint8Array(picture))
  expect(await client.findActive({ bucket, key: second.thumbnail })).toMatchObject({ scope: 'ann' })
  await expect(upload(new Uint8Array(picture))).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
  await client.transfer({ bucket, key, from: 'ann', to: 'bob' })
  await s3.files.delete({ key: second.key })
  await deliverEvents(s3 as S3ServerCore)
  await untilDelivered(client)
  const left = (scope: string) => client.countByScope(scope, 'active')
  // Of ann's, only the broken picture is left. Deleting bob's picture through the server also deletes its thumbnail.
  expect([await left('ann'), await left('bob')]).toEqual([1, 2])
  await clientOf(server, 'bob').delete({ key })
  await api.delete({ key: broken.key })
  await untilDelivered(client)
  expect([await left('ann'), await left('bob')]).toEqual([0, 0])
})

interface OwnRows {
  readonly store: StorageObjectStore
  readonly migrate: () => Promise<void>
  readonly onEvent: (event: StoredEvent) => Promise<void>
  readonly deliver: () => Promise<DeliverEventsResult>
  readonly stop: () => Promise<void>
}

const keepsOwnRows: SnippetCheck = async (program) => {
  const { store, migrate, onEvent, deliver, stop } = await run<OwnRows>(program)
  const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'] })
  const rows = async () =>
    (await pool.query('SELECT owner, name, bytes::int FROM documents ORDER BY owner')).rows as object[]
  const totals = async () =>
    (await pool.query('SELECT owner, uploads::int FROM document_totals ORDER BY owner')).rows as object[]
  try {
    await migrate()
    await uploadTo(store, 'ann')
    await uploadTo(store, 'bob')
    expect(await deliver()).toEqual({ delivered: 2, failed: [] })
    const ann = { owner: 'ann', name: 'ann/a.txt', bytes: 5 }
    expect(await rows()).toEqual([ann, { owner: 'bob', name: 'bob/a.txt', bytes: 5 }])

    const at = { bucket: 'uploads', key: 'bob/a.txt' }
    await store.update({ ...at, filename: 'renamed.txt' })
    const [updated] = await store.claimEvents()
    await onEvent(updated!)
    await store.transfer({ ...at, from: 'bob', to: 'eve' })
    await store.remove({ bucket: 'uploads', key: 'ann/a.txt' })
    await store.settleEvents([updated!])
    expect(await deliver()).toEqual({ delivered: 2, failed: [] })
    // A process that was stuck delivers its event again.
    await Promise.all([onEvent(updated!), onEvent(updated!)])
    expect(await rows()).toEqual([{ owner: 'eve', name: 'renamed.txt', bytes: 5 }])
    expect(await totals()).toEqual([
      { owner: 'ann', uploads: 1 },
      { owner: 'bob', uploads: 1 },
    ])

    // A failure leaves nothing behind and is retried.
    await pool.query('ALTER TABLE documents RENAME TO away')
    await store.remove({ ...at })
    const error = vi.spyOn(console, 'error').mockReturnValue()
    expect((await deliver()).failed).toHaveLength(1)
    expect(error).toHaveBeenCalledOnce()
    await pool.query('ALTER TABLE away RENAME TO documents')
    while ((await deliver()).delivered === 0) await new Promise((resolve) => setTimeout(resolve, 20))
    expect(await rows()).toEqual([])
  } finally {
    await pool.end()
    await stop()
  }
}

interface ReceiverProgram {
  readonly app: Express
  readonly received: readonly { readonly id: string; readonly type: string }[]
}

/** The receiver is overloaded at first. Then it takes the event, but its response is lost. */
const sendsSignedRequests: SnippetCheck = async (program) => {
  const { app, received } = await runSibling<ReceiverProgram>(program, 'receiver.mjs')
  let requests = 0
  const unreliable = createServer((request, response) => {
    requests++
    if (requests === 1) return void response.writeHead(503).end()
    if (requests === 2) response.writeHead = () => response.destroy()
    app(request, response)
  })
  const origin = await originOf(unreliable.listen(0))
  vi.stubEnv('WEBHOOK_URL', `${origin}/hooks/files`)
  const { store, deliver } = await run<OwnRows>(program)
  await uploadTo(store, 'ann')
  await store.remove({ bucket: 'uploads', key: 'ann/a.txt' })
  const error = vi.spyOn(console, 'error').mockReturnValue()
  let delivered = 0
  while (delivered < 2) {
    delivered += (await deliver()).delivered
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  expect(error).toHaveBeenCalledTimes(2)
  expect(requests).toBe(4)
  expect(received).toMatchObject([
    { type: 'activated', object: { owner: 'ann', key: 'ann/a.txt', size: 5 } },
    { type: 'deleted', object: { owner: 'ann', key: 'ann/a.txt', size: 5 } },
  ])
}

const refusesForgeries: SnippetCheck = async (program) => {
  const { app, received } = await run<ReceiverProgram>(program)
  const before = received.length
  const url = `${await originOf(app.listen(0))}/hooks/files`
  const body = '{"id":"forged","type":"deleted"}'
  const sign = (time: number, secret = 'a secret for development') =>
    `t=${time},v1=${createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')}`
  const send = async (signature: string) => {
    const headers = { 'content-type': 'application/json', 'x-signature': signature }
    return (await fetch(url, { method: 'POST', headers, body })).status
  }
  const now = Math.floor(Date.now() / 1000)
  for (const signature of ['', 't=1,v1=00', sign(now, 'another secret'), sign(now - 400), sign(now + 400)]) {
    expect(await send(signature)).toBe(401)
  }
  expect(received).toHaveLength(before)
  expect([await send(sign(now)), await send(sign(now))]).toEqual([204, 204])
  expect(received).toHaveLength(before + 1)
}

export const eventsChecks: SnippetChecks = {
  'docs/events.md#server.ts': logsChanges,
  'docs/events.md#handler.ts': handlesInTwoWays,
  'docs/events.md#worker.ts': deliversUntilStopped,
  'docs/events.md#thumbnails.ts': makesThumbnails,
  'docs/events.md#improve.ts': improvesFiles,
  'docs/events.md#own-rows.ts': { onPostgres: keepsOwnRows },
  'docs/events.md#webhook.ts': sendsSignedRequests,
  'docs/events.md#receiver.ts': refusesForgeries,
}
