import type { Server } from 'node:http'
import { expect } from 'vitest'
import { run, type SnippetCheck, type SnippetChecks } from '../programs.js'
import { originOf } from '../running-servers.js'

/** Expects that a server lists the objects of a caller who has signed in, and refuses others. */
const servesWithSession: SnippetCheck = async (program) => {
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

export const sessionServerChecks: SnippetChecks = {
  'docs/fastify.md#fastify-server.ts': servesWithSession,
  'docs/koa.md#koa-server.ts': servesWithSession,
}
