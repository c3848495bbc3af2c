import type { Express } from 'express'
import type { DbClientObject } from '@svc/db'
import { createS3Client, dbClient } from '@svc/db/client'
import { expect } from 'vitest'
import { run, type SnippetCheck, type SnippetChecks } from '../programs.js'
import { originOf } from '../running-servers.js'
import { clientOf, type HandlerProgram } from './app-client.js'

const sharesByMetadata: SnippetCheck = async (program) => {
  const { app } = await run<{ app: Express }>(program)
  const baseURL = await originOf(app.listen(0))
  const cookie = (user: string) => ({ cookie: `theme=dark; signed-in-as=${user}` })
  const { api } = createS3Client({ baseURL, headers: cookie('ann'), plugins: [dbClient()] })
  const { key } = await api.upload(new File(['hello'], 'hello.txt', { type: 'text/plain' }))
  const open = (headers = {}) => fetch(api.fileURL({ key, disposition: 'inline' }), { headers })
  const share = (user: string, shared: boolean) =>
    fetch(`${baseURL}/shared`, {
      method: 'PUT',
      headers: { ...cookie(user), 'content-type': 'application/json' },
      body: JSON.stringify({ key, shared }),
    })

  expect(await (await open(cookie('ann'))).text()).toBe('hello')
  expect((await open(cookie('bob'))).status).toBe(404)
  expect((await share('bob', true)).status).toBe(404)
  expect((await open()).status).toBe(401)
  expect((await share('ann', true)).status).toBe(204)
  const shown = await open(cookie('bob'))
  expect([await shown.text(), shown.headers.get('content-disposition')]).toEqual([
    'hello',
    expect.stringContaining('inline'),
  ])
  expect(await (await open()).text()).toBe('hello')
  await share('ann', false)
  expect((await open(cookie('bob'))).status).toBe(404)
}

const sharesWithReaders: SnippetCheck = async (program) => {
  const server = await run<HandlerProgram & { readersOf: Map<string, string[]> }>(program)
  const [ann, bob, eve] = ['ann', 'bob', 'eve'].map((user) => clientOf(server, user))
  const object: DbClientObject = await ann!.upload(new File(['hello'], 'hello.txt'))
  expect(await bob!.db.getObject(object)).toBeNull()
  server.readersOf.set(object.id, ['bob'])
  expect(await bob!.db.getObject(object)).toEqual(object)
  expect(await eve!.db.getObject(object)).toBeNull()
  await expect(bob!.delete(object)).rejects.toMatchObject({ code: 'OBJECT_NOT_FOUND' })
}

const givesFilmsTime: SnippetCheck = async (program) => {
  const api = clientOf(await run<HandlerProgram>(program), 'ann')
  const begun = Date.now()
  const secondsOf = async (type: string) => {
    const { key } = await api.upload(new File(['x'.repeat(1000)], 'x', { type }))
    const { expiresAt } = await api.download({ key })
    return (new Date(expiresAt).getTime() - begun) / 1000
  }
  expect(await secondsOf('video/mp4')).toBeGreaterThanOrEqual(6 * 3600)
  const seconds = await secondsOf('image/png')
  expect(seconds >= 900 && seconds < 6 * 3600).toBe(true)
}

export const sharingChecks: SnippetChecks = {
  'docs/sharing.md#sharing.ts': sharesByMetadata,
  'docs/sharing.md#shared-with.ts': sharesWithReaders,
  'docs/sharing.md#films.ts': givesFilmsTime,
}
