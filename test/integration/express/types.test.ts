import express5 from 'express'
import express4 from 'express4'
import { expect, it } from 'vitest'
import { expressBinding, expressRequest, fetchRequest } from '@svc/db/express'
import { echo } from '../bindings/echo.js'

it('is compatible with the types of Express 4', () => {
  const app = express4()
  app.use(expressBinding(echo))
  app.use('/v1', express4.json(), expressBinding(echo))
  app.all('/api/s3/*', expressBinding(echo))
  const router = express4.Router()
  router.use('/:tenant', expressBinding(echo))
  router.get('/files/:key', (req) => void fetchRequest(req))
  const handler: express4.RequestHandler = expressBinding(echo)
  expect(handler).toBeTypeOf('function')
})

it('is compatible with the types of Express 5', () => {
  const app = express5()
  app.use(expressBinding(echo))
  app.use('/v1', express5.json(), expressBinding(echo))
  app.all('/api/s3/*rest', expressBinding(echo))
  const router = express5.Router()
  router.use('/:tenant', expressBinding(echo))
  router.get('/files/:key', (req) => {
    const back: express5.Request = expressRequest(fetchRequest(req))
    return back
  })
  const handler: express5.RequestHandler = expressBinding(echo)
  expect(handler).toBeTypeOf('function')
})

it('refuses arguments that are not a server', () => {
  expect(() => expressBinding({} as typeof echo)).toThrow(TypeError)
  expect(() => expressBinding({ handler: echo.handler } as typeof echo)).toThrow(
    /createS3Server\(\) or db\(\)/,
  )
})

it('refuses a Request from elsewhere', () => {
  expect(() => expressRequest(new Request('http://localhost/'))).toThrow(TypeError)
})
