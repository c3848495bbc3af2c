import type { Server } from 'node:http'
import { createS3Client, dbClient } from '@svc/db/client'
import { expect } from 'vitest'
import { run, type SnippetCheck, type SnippetChecks } from '../programs.js'
import { originOf } from '../running-servers.js'
import { signedInAs } from './app-client.js'

const servesFetch: SnippetCheck = async (program) => {
  const { server } = await run<{ server: Server }>(program)
  const baseURL = await originOf(server)
  const { api } = createS3Client({ baseURL, headers: signedInAs('ann'), plugins: [dbClient()] })
  const { key } = await api.upload(new File(['hello'], 'hello.txt', { type: 'text/plain' }))
  const { url } = await api.download({ key })
  expect(await (await fetch(url)).text()).toBe('hello')
  expect((await api.db.listObjects()).objects).toMatchObject([{ key, size: 5 }])
  await api.delete({ key })
  expect((await fetch(`${baseURL}/api/s3/db/objects`)).status).toBe(401)
  expect((await fetch(`${baseURL}/elsewhere`)).status).toBe(404)
}

export const fetchChecks: SnippetChecks = {
  'docs/fetch.md#node-server.ts': servesFetch,
}
