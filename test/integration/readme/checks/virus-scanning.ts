import { createServer } from 'node:net'
import type { Express } from 'express'
import sharp from 'sharp'
import { deliverEvents, type S3ServerCore, type StorageObjectStore } from '@svc/db'
import { expect, vi } from 'vitest'
import { run, type SnippetCheck, type SnippetChecks } from '../programs.js'
import { originOf } from '../running-servers.js'
import { clientOf, signedInAs } from './app-client.js'

interface CheckedProgram {
  readonly client: StorageObjectStore
  readonly s3: S3ServerCore
}

const note = (text: string) => new File([text], 'note.txt', { type: 'text/plain' })

/** Speaks the part of clamd's protocol that the page uses. A long test has the real one. */
async function startScanner(): Promise<number> {
  const server = createServer((socket) => {
    let received = Buffer.alloc(0)
    socket.on('data', (bytes) => {
      received = Buffer.concat([received, bytes])
      if (!received.subarray(-4).equals(Buffer.alloc(4))) return
      const text = received.toString('latin1')
      socket.end(text.includes('EICAR') ? 'stream: Eicar-Signature FOUND\0' : 'stream: OK\0')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  server.unref()
  return (server.address() as { port: number }).port
}

const scansUploads: SnippetCheck = async (program) => {
  vi.stubEnv('CLAMD_HOST', '127.0.0.1')
  vi.stubEnv('CLAMD_PORT', String(await startScanner()))
  const { client, s3 } = await run<CheckedProgram>(program)
  const api = clientOf({ s3 }, 'ann')
  const { id, checking } = await api.upload(note('hello'))
  expect(checking).toBe(true)
  await expect.poll(() => client.findById({ id })).toMatchObject({ status: 'active' })
  const infected = await api.upload(note('EICAR'))
  await expect.poll(() => client.findById({ id: infected.id })).toBeNull()
  expect(await api.db.getObject({ id: infected.id })).toBeNull()
  await deliverEvents(s3)
}

interface WaitingProgram {
  readonly uploadAndWait: (
    file: File,
    show: (text: string) => void,
    client: object,
    pause: number,
  ) => Promise<boolean>
}

const waitsForTheCheck: SnippetCheck = async (program) => {
  const { uploadAndWait } = await run<WaitingProgram>(program)
  const object = { id: '1', status: 'pending', checking: true }
  const outcomes = [
    { found: [object, { id: '1', status: 'active' }], shown: 'The file is ready.' },
    { found: [object, null], shown: 'The file was refused.' },
  ]
  for (const { found, shown } of outcomes) {
    const texts: string[] = []
    const client = { upload: async () => object, db: { getObject: async () => found.shift() } }
    await uploadAndWait(note('hello'), (text) => texts.push(text), client, 1)
    expect(texts).toEqual(['The file is being checked.', 'The file is being checked.', shown])
  }
}

interface ModerationProgram {
  readonly app: Express
  readonly s3: S3ServerCore
  readonly store: StorageObjectStore
}

const letsModeratorsDecide: SnippetCheck = async (program) => {
  vi.stubEnv('FILES_URL', 'http://app.test/api/s3/_storage')
  const { app, s3, store } = await run<ModerationProgram>(program)
  const origin = await originOf(app.listen(0))
  const api = clientOf({ s3 }, 'ann')
  const [good, bad] = [await api.upload(note('good')), await api.upload(note('bad'))]
  expect((await fetch(`${origin}/moderation`, { headers: signedInAs('ann') })).status).toBe(403)
  const asked = await fetch(`${origin}/moderation`, { headers: signedInAs('moderator') })
  const waiting = (await asked.json()) as { key: string; attemptId: string; url: string }[]
  expect(waiting.map(({ attemptId }) => attemptId).sort()).toEqual([good.id, bad.id].sort())
  const decide = (verdict: string, { id }: { id: string }) => {
    const { key, attemptId } = waiting.find((each) => each.attemptId === id)!
    const headers = { ...signedInAs('moderator'), 'content-type': 'application/json' }
    const body = JSON.stringify({ key, attemptId, reason: 'Off topic.' })
    return fetch(`${origin}/moderation/${verdict}`, { method: 'POST', headers, body })
  }
  expect((await decide('accept', good)).status).toBe(204)
  expect((await decide('reject', bad)).status).toBe(204)
  expect(await store.findById({ id: good.id })).toMatchObject({ status: 'active' })
  expect(await store.findById({ id: bad.id })).toBeNull()
  expect((await decide('reject', good)).status).toBe(404)
  expect((await api.download({ key: good.key })).url).toContain('_storage/')
  const told = (as: string) => fetch(`${origin}/refusals/${bad.id}`, { headers: signedInAs(as) })
  expect(await (await told('ann')).json()).toEqual({ reason: 'Off topic.' })
  expect((await told('bob')).status).toBe(404)
}

const encodesPictures: SnippetCheck = async (program) => {
  const { client, s3 } = await run<CheckedProgram>(program)
  const api = clientOf({ s3 }, 'ann')
  const create = { width: 20, height: 10, channels: 3, background: 'teal' } as const
  const picture = new Uint8Array(await sharp({ create }).png().toBuffer())
  const { key, bucket } = await api.upload(new File([picture], 'sea.png', { type: 'image/png' }))
  await expect.poll(() => client.findActive({ bucket, key })).toMatchObject({ contentType: 'image/webp' })
  const { body } = await s3.files.get({ key })
  expect(await sharp(await new Response(body).arrayBuffer()).metadata()).toMatchObject({ format: 'webp' })
  const { id } = await api.upload(new File(['no'], 'no.png', { type: 'image/png' }))
  await expect.poll(() => client.findById({ id })).toBeNull()
}

export const virusScanningChecks: SnippetChecks = {
  'docs/virus-scanning.md#scanned-uploads.ts': scansUploads,
  'docs/virus-scanning.md#waiting.ts': waitsForTheCheck,
  'docs/virus-scanning.md#moderation.ts': letsModeratorsDecide,
  'docs/virus-scanning.md#pictures.ts': encodesPictures,
}
