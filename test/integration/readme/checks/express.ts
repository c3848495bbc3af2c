import type { Express } from 'express'
import { expect } from 'vitest'
import { run, type SnippetCheck, type SnippetChecks } from '../programs.js'
import { originOf } from '../running-servers.js'
import { signedInAs } from './app-client.js'

const servesTenants: SnippetCheck = async (program) => {
  const { app } = await run<{ app: Express }>(program)
  const origin = await originOf(app.listen(0))
  expect(await (await fetch(`${origin}/acme/health`)).text()).toBe('ok')
  const list = (tenant: string, headers = {}) =>
    fetch(`${origin}/${tenant}/api/s3/db/objects?status=pending`, { headers })
  expect((await list('acme')).status).toBe(401)

  const ann = signedInAs('ann')
  const created = await fetch(`${origin}/acme/api/s3/upload`, {
    method: 'POST',
    headers: { ...ann, 'content-type': 'application/json' },
    body: JSON.stringify({ filename: 'a.txt', contentType: 'text/plain', size: 1 }),
  })
  const { upload } = (await created.json()) as { upload: { url: string } }
  expect(upload.url.startsWith(`${origin}/acme/api/s3/_storage/`)).toBe(true)
  expect(((await (await list('acme', ann)).json()) as { objects: [] }).objects.length).toBe(1)
  expect(await (await list('other', ann)).json()).toEqual({ objects: [] })
}

export const expressChecks: SnippetChecks = {
  'docs/express.md#nested-routers.ts': servesTenants,
}
