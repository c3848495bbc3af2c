import Router from '@koa/router'
import Koa3 from 'koa'
import Koa2 from 'koa2'
import mount from 'koa-mount'
import { expect, it } from 'vitest'
import { fetchRequest, koaBinding, koaContext } from '@svc/db/koa'
import { echo } from '../bindings/echo.js'

it('is compatible with the types of Koa 2', () => {
  const app = new Koa2()
  app.use(koaBinding(echo))
  app.use((ctx) => void fetchRequest(ctx))
  const middleware: Koa2.Middleware = koaBinding(echo)
  expect(middleware).toBeTypeOf('function')
})

it('is compatible with the types of Koa 3', () => {
  const app = new Koa3<{ user?: string }>()
  app.use(koaBinding(echo))
  app.use(mount('/v1', koaBinding(echo)))
  app.use((ctx) => {
    const back: Koa3.Context = koaContext(fetchRequest(ctx))
    return back
  })
  const router = new Router()
  router.all('/api/s3/{*rest}', koaBinding(echo))
  router.get('/files/:key', (ctx) => void fetchRequest(ctx))
  const middleware: Koa3.Middleware = koaBinding(echo)
  expect(middleware).toBeTypeOf('function')
})

it('refuses arguments that are not a server', () => {
  expect(() => koaBinding({} as typeof echo)).toThrow(TypeError)
  expect(() => koaBinding({ handler: echo.handler } as typeof echo)).toThrow(/createS3Server\(\) or db\(\)/)
})

it('refuses a Request from elsewhere', () => {
  expect(() => koaContext(new Request('http://localhost/'))).toThrow(TypeError)
})
