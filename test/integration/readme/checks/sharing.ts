import type { Express } from 'express'
import type { DbClientObject, Handler } from '@svc/db'
import { createS3Client, dbClient } from '@svc/db/client'
import { expect } from 'vitest'
import { run, type SnippetCheck, type SnippetChecks } from '../programs.js'
import { originOf } from '../running-servers.js'
import { signedInAs } from './sign-in.js'

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
  const { s3, readersOf } = await run<{ s3: { handler: Handler }; readersOf: Map<string, string[]> }>(program)
  const clientOf = (user: string) =>
    createS3Client({
      baseURL: 'http://app.test',
      headers: signedInAs(user),
      plugins: [dbClient()],
      fetch: (input, init) => s3.handler(new Request(input, init)),
    }).api
  const object: DbClientObject = await clientOf('ann').upload(new File(['hello'], 'hello.txt'))
  expect(await clientOf('bob').db.getObject(object)).toBeNull()
  readersOf.set(object.id, ['bob'])
  expect(await clientOf('bob').db.getObject(object)).toEqual(object)
  expect(await clientOf('eve').db.getObject(object)).toBeNull()
  await expect(clientOf('bob').delete(object)).rejects.toMatchObject({ code: 'OBJECT_NOT_FOUND' })
}

export const sharingChecks: SnippetChecks = {
  'docs/sharing.md#sharing.ts': sharesByMetadata,
  'docs/sharing.md#shared-with.ts': sharesWithReaders,
}
