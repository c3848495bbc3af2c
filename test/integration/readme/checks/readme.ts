import type { Server } from 'node:http'
import { expect, vi } from 'vitest'
import type { DbClientObject } from '@svc/db'
import { run, runSibling, type SnippetCheck, type SnippetChecks } from '../programs.js'
import { originOf } from '../running-servers.js'

const servesApi: SnippetCheck = async (program) => {
  const { server } = await run<{ server: Server }>(program)
  const origin = await originOf(server)
  expect((await fetch(`${origin}/api/s3/db/objects`)).status).toBe(401)
  const list = await fetch(`${origin}/api/s3/db/objects`, { headers: { 'x-user': 'ann' } })
  expect(await list.json()).toEqual({ objects: [] })
}

/** Against the server of the same document. Relative URLs resolve against it, as they do on a page. */
const uploadsAndLists: SnippetCheck = async (program) => {
  const { server } = await runSibling<{ server: Server }>(program, 'server.mjs')
  const origin = await originOf(server)
  const realFetch = globalThis.fetch
  vi.stubGlobal('fetch', (input: string, init?: RequestInit) => realFetch(new URL(input, origin), init))
  const { uploadAndList } = await run<{ uploadAndList: (file: File) => Promise<DbClientObject[]> }>(program)
  const files = await uploadAndList(new File(['hello'], 'hello.txt', { type: 'text/plain' }))
  expect(files).toMatchObject([{ filename: 'hello.txt', size: 5, status: 'active' }])
}

export const readmeChecks: SnippetChecks = {
  'README.md#server.ts': { onPostgres: servesApi },
  'README.md#browser.ts': { onPostgres: uploadsAndLists },
}
