import type { PrismaPg } from '@prisma/adapter-pg'
import type { Knex } from 'knex'
import mongoose from 'mongoose'
import type { RequestListener } from 'node:http'
import type pg from 'pg'
import { expect, vi } from 'vitest'
import { cleanUp, type StorageObject, type StorageObjectStore } from '@svc/db'
import type { DbContext } from '@svc/db/adapter'
import { listen } from '../../bindings/listening.js'
import { run, runSibling, type SnippetCheck, type SnippetChecks } from '../programs.js'
import { clientOf, signedInAs, type HandlerProgram } from './app-client.js'
import { withFile } from './sqlite.js'

type Server = HandlerProgram['s3'] & { readonly db: DbContext } & Parameters<typeof cleanUp>[0]

interface FormProgram extends HandlerProgram {
  readonly s3: Server
  readonly pool: pg.Pool
  readonly store: StorageObjectStore
  readonly migrate: () => Promise<void>
}

const MISSING = { code: 'OBJECT_NOT_FOUND', params: { missing: '0' } }
const UNKNOWN_ID = '01890000-0000-7000-8000-000000000000'
const file = () => new File(['the sea'], 'sea.txt', { type: 'text/plain' })
const requestOf = (scope: string) => new Request('http://app.test', { headers: signedInAs(scope) })

async function formServer(program: string): Promise<FormProgram> {
  const server = await runSibling<FormProgram>(program, 'form-server.mjs')
  await server.migrate()
  return server
}

const givesAnEnd: SnippetCheck = async (program) => {
  const server = await run<FormProgram>(program)
  await server.migrate()
  const { id, temporaryUntil } = await clientOf(server, 'form:ann').upload(file())
  expect(temporaryUntil).toBeDefined()
  expect(await server.store.findById({ id })).toMatchObject({ temporaryUntil: new Date(temporaryUntil!) })
  expect((await cleanUp(server.s3)).temporary).toEqual({ removed: 0, kept: 0, failed: 0 })
}

const postsIds: SnippetCheck = async (program) => {
  const { submit } = await run<{
    submit: (text: string, files: readonly File[], upload: () => Promise<{ id: string }>) => Promise<number[]>
  }>(program)
  const post = vi.fn<typeof fetch>().mockResolvedValue(new Response())
  vi.stubGlobal('fetch', post)
  const upload = () => Promise.resolve({ id: UNKNOWN_ID })
  expect(await submit('a note', [file(), file()], upload)).toEqual([])
  expect(JSON.parse(post.mock.lastCall![1]!.body as string)).toEqual({
    ...{ text: 'a note', files: [UNKNOWN_ID, UNKNOWN_ID] },
  })
  await expect(submit('', [file()], () => Promise.reject(new Error('lost')))).rejects.toThrow('lost')
  expect(post).toHaveBeenCalledOnce()
  const refusal = (params: object) => new Response(JSON.stringify({ params }), { status: 422 })
  post.mockResolvedValueOnce(refusal({ missing: '0,2' }))
  expect(await submit('', [file(), file(), file()], upload)).toEqual([0, 2])
  post.mockResolvedValueOnce(refusal({}))
  await expect(submit('', [file()], upload)).rejects.toThrow('not saved')
}

const servesForms: SnippetCheck = async (path) => {
  const { app, stop, jobs } = await run<{ app: RequestListener; stop: () => void; jobs: Promise<void> }>(path)
  const { store, ...server } = await runSibling<FormProgram>(path, 'form-server.mjs')
  const { url } = await listen(app)
  const owner = 'form:app'
  const post = async (files: readonly string[], headers: object = signedInAs(owner)) => {
    const response = await fetch(`${url}/notes`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ text: 'a note', files }),
    })
    return [response.status, await response.text()] as const
  }
  const { id } = await clientOf(server, owner).upload(file())
  expect(
    (await fetch(`${url}/api/s3/file?id=${id}`, { headers: signedInAs(owner), redirect: 'manual' })).status,
  ).toBe(302)
  expect((await post([id], {}))[0]).toBe(401)
  expect(await post([id, UNKNOWN_ID])).toEqual([422, expect.stringContaining('"missing":"1"')])
  expect((await post(['no id']))[0]).toBe(422)
  expect((await post([id]))[0]).toBe(201)
  expect(await store.findById({ id })).toMatchObject({ temporaryUntil: null })
  stop()
  await jobs
}

interface SavingProgram {
  readonly saveNote: (owner: string, body: string, files: readonly string[]) => Promise<string>
}

/** Expects that a note and the ends of its files are saved together or not at all. */
const savesTogether =
  (owner: string, close: (program: SavingProgram) => unknown = () => undefined): SnippetCheck =>
  async (path) => {
    const server = await formServer(path)
    const program = await run<SavingProgram>(path)
    const { store, pool } = server
    const { upload } = clientOf(server, owner)
    const files = [await upload(file()), await upload(file())]
    const endOf = async ({ id }: { readonly id: string }) => (await store.findById({ id }))!.temporaryUntil
    const notes = async () => (await pool.query('SELECT FROM notes WHERE owner = $1', [owner])).rowCount
    await expect(program.saveNote(owner, 'lost', [UNKNOWN_ID, files[0]!.id])).rejects.toMatchObject(MISSING)
    expect([await notes(), await endOf(files[0]!)]).toEqual([0, expect.any(Date)])
    const note = await program.saveNote(
      owner,
      'kept',
      files.map(({ id }) => id),
    )
    expect(await Promise.all(files.map(endOf))).toEqual([null, null])
    const { rows } = await pool.query<{ object_id: string }>(
      'SELECT object_id FROM note_files WHERE note = $1',
      [note],
    )
    expect(rows.map(({ object_id }) => object_id).sort()).toEqual(files.map(({ id }) => id).sort())
    expect(await program.saveNote(owner, 'no files', [])).toEqual(expect.any(String))
    await close(program)
  }

interface EmbeddedProgram extends SavingProgram {
  readonly store: StorageObjectStore
  readonly migrate: () => Promise<void>
}

/** Expects the same of a program with a database in the process. */
const savesInProcess: SnippetCheck = async (path) => {
  const { store, migrate, saveNote } = await run<EmbeddedProgram>(path)
  await migrate()
  await migrate()
  const reference = { bucket: 'notes', key: 'sea.txt' }
  const expiresAt = new Date(Date.now() + 3_600_000)
  const { id } = await store.reserve({
    ...{ scope: 'form:ann', ...reference, declaredSize: 7, expiresAt, temporarySeconds: 60 },
  })
  await store.confirm({ ...reference, id, size: 7 })
  await expect(saveNote('form:bob', 'lost', [id])).rejects.toMatchObject(MISSING)
  await expect(saveNote('form:ann', 'lost', [UNKNOWN_ID, id])).rejects.toMatchObject(MISSING)
  expect(await store.findById({ id })).toMatchObject({ temporaryUntil: expect.any(Date) as Date })
  expect(await saveNote('form:ann', 'kept', [id])).toMatch(/^[\da-f-]{36}$/)
  expect(await store.findById({ id })).toMatchObject({ temporaryUntil: null })
  expect(await saveNote('form:ann', 'no files', [])).toEqual(expect.any(String))
}

interface AfterCommitProgram {
  readonly s3: Server
  readonly saveNote: (request: Request, owner: string, body: string, ids: string[]) => Promise<string>
}

/** Expects that files of a saved note stay, also if the process dies before `keep`, and that others go. */
async function keepsWhatIsUsed({ s3, saveNote }: AfterCommitProgram, owner: string): Promise<void> {
  const { upload } = clientOf({ s3 }, owner)
  const [kept, used, unused] = [await upload(file()), await upload(file()), await upload(file())]
  await saveNote(requestOf(owner), owner, 'kept', [kept.id])
  const { objects } = s3.db
  const rowOf = ({ id }: { readonly id: string }) => objects.findById({ id })
  expect(await rowOf(kept)).toMatchObject({ temporaryUntil: null })
  const died = vi.spyOn(s3.db, 'keep').mockRejectedValueOnce(new Error('The process died.'))
  await expect(saveNote(requestOf(owner), owner, 'used', [used.id])).rejects.toThrow('died')
  died.mockRestore()
  for (const object of [used, unused]) {
    await s3.db.update(requestOf(owner), { id: object.id, temporarySeconds: 1 })
  }
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 120_000 })
  expect((await cleanUp(s3)).temporary).toEqual({ removed: 1, kept: 1, failed: 0 })
  vi.useRealTimers()
  expect(await rowOf(used)).toMatchObject({ status: 'active', temporaryUntil: null })
  expect(await rowOf(unused)).toMatchObject({ status: 'deleted' })
}

const asksPrisma: SnippetCheck = async (path) => {
  await formServer(path)
  const { serverFor, adapter } = await run<{
    serverFor: (prisma: unknown) => AfterCommitProgram
    adapter: PrismaPg
  }>(path)
  expect(adapter.provider).toBe('postgres')
  // A generated client runs in a long run, test/integration/postgres/saved-with-prisma.long.test.ts.
  const saved: string[] = []
  const prisma = {
    note: {
      create({ data }: { data: { files: { create: { objectId: string }[] } } }) {
        saved.push(...data.files.create.map(({ objectId }) => objectId))
        return Promise.resolve({ id: 'note' })
      },
    },
    noteFile: {
      findMany: ({ where }: { where: { objectId: { in: string[] } } }) =>
        Promise.resolve(
          where.objectId.in.filter((id) => saved.includes(id)).map((objectId) => ({ objectId })),
        ),
    },
  }
  await keepsWhatIsUsed(serverFor(prisma), 'form:prisma')
}

const asksMongoose: SnippetCheck = async (path) => {
  const program = await run<AfterCommitProgram & { readonly store: StorageObjectStore }>(path)
  await program.store.migrate()
  await keepsWhatIsUsed(program, 'form:mongoose')
  await mongoose.disconnect()
}

const lengthens: SnippetCheck = async (path) => {
  const server = await formServer(path)
  const { autosave, publish } = await run<{
    autosave: (request: Request, ids: readonly string[]) => Promise<string[]>
    publish: (request: Request, ids: readonly string[]) => Promise<StorageObject[]>
  }>(path)
  const owner = 'form:author'
  const { id, temporaryUntil } = await clientOf(server, owner).upload(file())
  expect(await autosave(requestOf(owner), [id, UNKNOWN_ID])).toEqual([UNKNOWN_ID])
  const later = (await server.store.findById({ id }))!.temporaryUntil!
  expect(later.getTime()).toBeGreaterThanOrEqual(Date.parse(temporaryUntil!))
  expect(await publish(requestOf(owner), [id])).toMatchObject([{ id, temporaryUntil: null }])
}

const expires: SnippetCheck = async (path) => {
  const { s3, link, retain } = await run<{
    s3: Server
    link: (scope: string, body: Blob) => Promise<{ url: string; expiresAt: Date; object: StorageObject }>
    retain: (scope: string, body: Blob) => Promise<StorageObject>
  }>(path)
  const { url, expiresAt, object } = await link('form:ann', new Blob(['zip']))
  expect(expiresAt <= object.temporaryUntil!).toBe(true)
  expect((await s3.handler(new Request(url))).status).toBe(200)
  const invoice = await retain('form:ann', new Blob(['pdf']))
  expect(invoice.temporaryUntil!.getTime() - Date.now()).toBeGreaterThan(364 * 86_400_000)
}

export const formsAndDraftsChecks: SnippetChecks = {
  'docs/forms-and-drafts.md#form-server.ts': { onPostgres: givesAnEnd },
  'docs/forms-and-drafts.md#form-page.ts': postsIds,
  'docs/forms-and-drafts.md#form-app.ts': { onPostgres: servesForms },
  'docs/forms-and-drafts.md#transaction.ts': { onPostgres: async (path) => void (await run(path)) },
  'docs/forms-and-drafts.md#save-with-drizzle.ts': { onPostgres: savesTogether('form:drizzle') },
  'docs/forms-and-drafts.md#save-with-kysely.ts': { onPostgres: savesTogether('form:kysely') },
  'docs/forms-and-drafts.md#save-with-knex.ts': {
    onPostgres: savesTogether('form:knex', (program) =>
      (program as SavingProgram & { readonly database: Knex }).database.destroy(),
    ),
  },
  'docs/forms-and-drafts.md#pglite-forms.ts': savesInProcess,
  'docs/forms-and-drafts.md#sqlite-forms.ts': withFile(savesInProcess),
  'docs/forms-and-drafts.md#save-with-prisma.ts': { onPostgres: asksPrisma },
  'docs/forms-and-drafts.md#save-with-mongoose.ts': { onMongo: asksMongoose },
  'docs/forms-and-drafts.md#autosave.ts': { onPostgres: lengthens },
  'docs/forms-and-drafts.md#expiring-links.ts': expires,
}
