import { Hono, type Context, type MiddlewareHandler } from 'hono'
import { expect, it } from 'vitest'
import { fetchRequest, honoBinding, honoContext } from '@svc/db/hono'
import { echo } from '../bindings/echo.js'

it('is compatible with the types of Hono 4', () => {
  const app = new Hono<{ Bindings: { secret: string }; Variables: { user: string } }>()
  app.use(honoBinding(echo))
  app.use('/v1/*', honoBinding(echo))
  app.all('/api/s3/*', honoBinding(echo))
  app.route('/v2', new Hono().use(honoBinding(echo)))
  app.get('/files/:key', (c) => {
    const back: Context = honoContext(fetchRequest(c))
    return back.text(c.get('user'))
  })
  const middleware: MiddlewareHandler = honoBinding(echo)
  expect(middleware).toBeTypeOf('function')
})

it('refuses arguments that are not a server', () => {
  expect(() => honoBinding({} as typeof echo)).toThrow(TypeError)
  expect(() => honoBinding({ handler: echo.handler } as typeof echo)).toThrow(/createS3Server\(\) or db\(\)/)
})

it('refuses a Request from elsewhere', () => {
  expect(() => honoContext(new Request('http://localhost/'))).toThrow(TypeError)
})
