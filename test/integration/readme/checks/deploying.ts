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
  readonly tidyUp: () => Promise<void>
  readonly stop: () => Promise<void>
}

const DAY = 24 * 60 * 60 * 1000

const servesAndStops: SnippetCheck = async (program) => {
  const { server, client, tidyUp, stop } = await run<ServiceProgram>(program)
  const origin = await originOf(server)
  await client.migrate()
  expect((await fetch(`${origin}/ready`)).status).toBe(200)
  expect(await (await fetch(`${origin}/deployed`)).json()).toEqual([])

  const at = { scope: 'ann', bucket: 'uploads', key: 'deployed.txt' }
  await client.reserve({ ...at, declaredSize: 5, expiresAt: new Date(Date.now() + DAY) })
  await client.confirm({ ...at, size: 5 })
  await client.remove(at)
  await tidyUp()
  // History is kept for 30 days.
  expect(await client.countByScope('ann', 'deleted')).toBe(1)

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
  await expect(fetch(`${origin}/ready`)).rejects.toThrow()
  await expect(client.ping()).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
}

export const deployingChecks: SnippetChecks = {
  'docs/deploying.md#service.ts': { onPostgres: servesAndStops },
}
