import { describe, expect, it, vi } from 'vitest'
import { db, type DbOptions } from '@svc/db'
import type { ServerEnvironment } from '@svc/db/adapter'
import { memoryAdapter } from '@svc/db/memory'
import { afterNoon, NOON } from '../settable-clock.js'
import { requestOf, resolveUser } from './db-requests.js'

const request = requestOf('user:1', '/v1/db/objects')

function installed(options: Partial<DbOptions> = {}, environment: Partial<ServerEnvironment> = {}) {
  const report = vi.fn()
  const client = memoryAdapter({ now: () => NOON })
  const plugin = db({ client, resolveScope: resolveUser, ...options })
  const server = { basePath: '/v1', bucket: 'files', report, now: () => NOON, ...environment }
  return { ...plugin.install(server), client, report }
}

describe('db() on a server', () => {
  it('uses the base path of the server', async () => {
    const { context } = installed({ basePath: '/elsewhere' })
    expect(context.basePath).toBe('/v1')
    expect((await context.handler(request)).status).toBe(200)
  })

  it('uses its own clock, else that of the server', async () => {
    const input = { key: 'a', declaredSize: 5 }
    const servers = installed({ pendingTtlSeconds: 1 })
    expect(await servers.context.reserve(request, input)).toMatchObject({ expiresAt: afterNoon(1000) })
    const own = installed({ pendingTtlSeconds: 1, now: () => afterNoon(500) })
    expect(await own.context.reserve(request, input)).toMatchObject({ expiresAt: afterNoon(1500) })
  })

  it('works on two servers with their own settings', async () => {
    const client = memoryAdapter()
    const plugin = db({ client, resolveScope: resolveUser, bucket: 'photos' })
    const server = { report: vi.fn(), now: () => new Date() }
    const one = plugin.install({ ...server, basePath: '/one', bucket: 'one' })
    const two = plugin.install({ ...server, basePath: '/two', bucket: 'two' })
    const input = { key: 'a', declaredSize: 5 }
    expect((await one.context.reserve(request, input)).bucket).toBe('one')
    expect((await two.context.reserve(request, input)).bucket).toBe('two')
    expect((await plugin.reserve(request, input)).bucket).toBe('photos')
  })
})
