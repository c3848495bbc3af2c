import type { EndUploadsResult, EraseScopeResult, S3ServerCore, StorageObjectStore } from '@svc/db'
import type pg from 'pg'
import { expect } from 'vitest'
import { run, type SnippetCheck, type SnippetChecks } from '../programs.js'
import { ask, clientOf, type HandlerProgram } from './app-client.js'

interface AdminProgram extends HandlerProgram {
  readonly pool: pg.Pool
  readonly store: StorageObjectStore
  readonly s3: S3ServerCore
  readonly migrate: () => Promise<void>
  readonly findFile: (id: string) => ReturnType<StorageObjectStore['findById']>
  readonly findOwners: (prefix: string) => ReturnType<StorageObjectStore['listScopes']>
  readonly filesOf: (scope: string) => ReturnType<StorageObjectStore['listByScope']>
  readonly suspend: (scope: string, reason: string) => Promise<EndUploadsResult['ended']>
  readonly reinstate: (scope: string) => Promise<void>
  readonly hide: (id: string, reason: string) => Promise<void>
  readonly show: (id: string) => Promise<void>
  readonly takeDown: (id: string) => Promise<boolean>
  readonly handOver: (from: string, to: string) => Promise<{ readonly transferred: number }>
  readonly erase: (scope: string) => Promise<EraseScopeResult>
}

const administers: SnippetCheck = async (program) => {
  const app = await run<AdminProgram>(program)
  await app.migrate()
  const [ann, bob] = [clientOf(app, 'admin:ann'), clientOf(app, 'admin:bob')]
  const file = (name: string) => new File(['hello'], name, { type: 'text/plain' })
  const kept = await ann.upload(file('kept.txt'))
  const bad = await ann.upload(file('bad.txt'))
  expect(await app.findFile(bad.id)).toMatchObject({ scope: 'admin:ann', filename: 'bad.txt' })
  expect(await app.findOwners('admin:')).toMatchObject([{ scope: 'admin:ann', counts: { active: 2 } }])
  expect((await app.filesOf('admin:ann')).objects.map(({ key }) => key)).toEqual([bad.key, kept.key])

  const begin = { filename: 'film.mp4', contentType: 'video/mp4', size: 5 }
  const begun = (await (await ask(app, 'admin:ann', 'POST', '/upload', begin)).json()) as { object: object }
  expect(await app.suspend('admin:ann', 'spam')).toBe(1)
  expect((await ask(app, 'admin:ann', 'POST', '/upload/confirm', begun.object)).status).toBe(404)
  for (const call of [() => ann.upload(file('new.txt')), () => ann.download(kept), () => ann.delete(kept)]) {
    await expect(call()).rejects.toMatchObject({ code: 'FORBIDDEN' })
  }
  await app.reinstate('admin:ann')
  await ann.download(kept)

  await app.hide(bad.id, 'reported')
  for (const call of [() => ann.download(bad), () => ann.delete(bad), () => ann.upload(file('bad.txt'))]) {
    await expect(call()).rejects.toMatchObject({ code: 'OBJECT_NOT_FOUND' })
  }
  await app.show(bad.id)
  const { url } = await ann.download(bad)
  await app.hide(bad.id, 'reported')
  expect(await app.takeDown(bad.id)).toBe(true)
  expect((await app.s3.handler(new Request(url))).status).toBe(404)
  expect(await app.takeDown(bad.id)).toBe(false)

  expect(await app.handOver('admin:ann', 'admin:bob')).toMatchObject({ transferred: 1 })
  await bob.download(kept)
  expect(await app.erase('admin:bob')).toMatchObject({ objects: 1, failed: [] })
  expect(await app.erase('admin:ann')).toMatchObject({ objects: 0, history: 1, failed: [] })
  expect((await app.findOwners('admin:')).every(({ counts }) => counts.active === 0)).toBe(true)
  await app.pool.end()
}

export const adminChecks: SnippetChecks = {
  'docs/admin.md#admin.ts': { onPostgres: administers },
}
