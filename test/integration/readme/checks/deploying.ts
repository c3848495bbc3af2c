import { once } from 'node:events'
import type { Server } from 'node:http'
import { connect } from 'node:net'
import type { StorageObjectStore } from '@svc/db'
import { expect, vi } from 'vitest'
import { run, type SnippetCheck, type SnippetChecks } from '../programs.js'
import { originOf } from '../running-servers.js'

interface ServiceProgram {
  readonly server: Server
  readonly client: StorageObjectStore
  readonly stop: () => Promise<void>
}

const servesAndStops: SnippetCheck = async (program) => {
  const { server, client, stop } = await run<ServiceProgram>(program)
  const origin = await originOf(server)
  const listed = () => fetch(`${origin}/api/s3/db/objects`, { headers: { 'x-signed-in-as': 'ann' } })
  expect((await listed()).status).toBe(200)

  // A request whose body never ends.
  const held = connect(Number(new URL(origin).port), '127.0.0.1')
  const arrived = once(server, 'request')
  held.write('POST /api/s3/upload HTTP/1.1\r\nHost: a\r\nX-Signed-In-As: ann\r\n')
  held.write('Content-Type: application/json\r\nContent-Length: 10\r\n\r\n')
  await arrived
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const stopped = stop()
  vi.advanceTimersByTime(20_000)
  vi.useRealTimers()
  await stopped
  await expect(listed()).rejects.toThrow()
  await expect(client.ping()).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
}

export const deployingChecks: SnippetChecks = {
  'docs/deploying.md#service.ts': { onPostgres: servesAndStops },
}
