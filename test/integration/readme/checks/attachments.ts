import type pg from 'pg'
import type { StorageObjectStore } from '@svc/db'
import { expect } from 'vitest'
import { run, type SnippetCheck, type SnippetChecks } from '../programs.js'
import { clientOf, type HandlerProgram } from './app-client.js'

interface Message {
  readonly conversation: string
  readonly sender: string
  readonly body: string
}

interface AttachmentsProgram extends HandlerProgram {
  readonly pool: pg.Pool
  readonly store: StorageObjectStore
  readonly migrate: () => Promise<void>
  readonly send: (message: Message, objectIds: readonly string[]) => Promise<string>
  readonly forward: (original: string, message: Message) => Promise<string>
  readonly deleteMessage: (sender: string, id: string) => Promise<boolean>
  readonly sweep: (before: Date) => Promise<number>
}

const MISSING = { code: 'OBJECT_NOT_FOUND' }

const keepsAttachments: SnippetCheck = async (program) => {
  const app = await run<AttachmentsProgram>(program)
  const { pool, store, send, forward, deleteMessage, sweep } = app
  await app.migrate()
  await pool.query(`INSERT INTO chat_members VALUES
    ('trip', 'msg:ann'), ('trip', 'msg:bob'), ('work', 'msg:bob'), ('work', 'msg:eve')`)
  const [ann, bob, eve] = ['msg:ann', 'msg:bob', 'msg:eve'].map((scope) => clientOf(app, scope)) as [
    ReturnType<typeof clientOf>,
    ReturnType<typeof clientOf>,
    ReturnType<typeof clientOf>,
  ]
  const upload = () => ann.upload(new File(['the sea'], 'sea.txt', { type: 'text/plain' }))
  const message = { conversation: 'trip', sender: 'msg:ann', body: 'Look!' }
  const photo = await upload()
  await expect(bob.download(photo)).rejects.toMatchObject(MISSING)
  await expect(send({ ...message, sender: 'msg:bob' }, [photo.id])).rejects.toMatchObject(MISSING)
  await expect(send({ ...message, conversation: 'work' }, [photo.id])).rejects.toMatchObject({
    code: 'FORBIDDEN',
  })
  const sent = await send(message, [photo.id, photo.id])
  await bob.download(photo)
  await expect(eve.download(photo)).rejects.toMatchObject(MISSING)

  const onward = { conversation: 'work', sender: 'msg:bob', body: 'From Ann' }
  await expect(forward(sent, { ...onward, sender: 'msg:eve' })).rejects.toMatchObject(MISSING)
  const forwarded = await forward(sent, onward)
  await eve.download(photo)
  expect(await deleteMessage('msg:bob', sent)).toBe(false)
  expect(await deleteMessage('msg:ann', sent)).toBe(true)
  await eve.download(photo)
  expect(await deleteMessage('msg:bob', forwarded)).toBe(true)
  expect(await store.findActive({ bucket: photo.bucket, key: photo.key })).toBeNull()

  // Messages that are sent while their files are swept have them all, or are refused.
  const files = await Promise.all(Array.from({ length: 8 }, upload))
  const sends = files.map(({ id }) =>
    send(message, [id]).then(
      () => id,
      (error: unknown) => expect(error).toMatchObject(MISSING),
    ),
  )
  const [swept, ...ids] = await Promise.all([sweep(new Date(Date.now() + 60_000)), ...sends])
  const attached = ids.filter((id) => typeof id === 'string')
  expect(swept).toBe(files.length - attached.length)
  for (const id of attached) expect(await store.findById({ id })).toMatchObject({ status: 'active' })
  expect(await sweep(new Date(Date.now() + 60_000))).toBe(0)
  expect(await send({ ...message, body: 'No file' }, [])).toEqual(expect.any(String))
  expect(await store.checkUsage()).toEqual([])
  await pool.end()
}

export const attachmentsChecks: SnippetChecks = {
  'docs/attachments.md#attachments.ts': { onPostgres: keepsAttachments },
}
