import Koa3 from 'koa'
import { describe, expect, it } from 'vitest'
import { db } from '@svc/db'
import { koaBinding, koaContext } from '@svc/db/koa'
import { memoryAdapter } from '@svc/db/memory'
import { keysFor, objectsOfTwo } from '../bindings/two-callers.js'
import { listenWith, versions } from './versions.js'

describe.each(versions)('the caller, in $name', ({ Koa }) => {
  it('is read from the state that middleware has set', async () => {
    const plugin = db({
      client: memoryAdapter({ objects: objectsOfTwo }),
      resolveScope: (request) => (koaContext(request).state as { user: string }).user,
    })
    const app = new Koa().use((ctx, next) => {
      ctx.state = { user: `user:${ctx.get('x-name')}` }
      return next()
    })
    const { url } = await listenWith(app.use(koaBinding(plugin)))

    expect(await keysFor(url, { 'x-name': 'bob' })).toEqual(['bob.txt'])
  })
})

it('resolves the caller with asyncLocalStorage', async () => {
  const app = new Koa3({ asyncLocalStorage: true })
  const plugin = db({
    client: memoryAdapter({ objects: objectsOfTwo }),
    resolveScope: (request) =>
      app.currentContext === koaContext(request) ? `user:${koaContext(request).get('x-name')}` : null,
  })
  const { url } = await listenWith(app.use(koaBinding(plugin)))

  expect(await keysFor(url, { 'x-name': 'ann' })).toEqual(['ann.txt'])
})
