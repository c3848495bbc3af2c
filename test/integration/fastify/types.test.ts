import { createSecureServer } from 'node:http2'
import { fastify as fastify5, type FastifyRequest } from 'fastify'
import { fastify as fastify4 } from 'fastify4'
import { expect, it } from 'vitest'
import { fastifyBinding, fastifyRequest, fetchRequest } from '@svc/db/fastify'
import { echo } from '../bindings/echo.js'

it('is compatible with the types of Fastify 4', () => {
  const app = fastify4()
  app.register(fastifyBinding(echo))
  app.register(fastifyBinding(echo), { prefix: '/v1' })
  app.get('/files/:key', (request, reply) => void fetchRequest(request, reply))
  fastify4({ http2: true }).register(fastifyBinding(echo))
  expect(fastifyBinding(echo)).toBeTypeOf('function')
})

it('is compatible with the types of Fastify 5', () => {
  const app = fastify5()
  app.register(fastifyBinding(echo))
  app.register(fastifyBinding(echo), { prefix: '/v1' })
  app.get<{ Params: { key: string } }>('/files/:key', (request, reply) => {
    const back: FastifyRequest = fastifyRequest(fetchRequest(request, reply))
    return back
  })
  const secure = fastify5({ http2: true, https: {}, serverFactory: (run) => createSecureServer({}, run) })
  secure.register(fastifyBinding(echo))
  secure.get('/files/:key', (request, reply) => void fetchRequest(request, reply))
  expect(fastifyBinding(echo)).toBeTypeOf('function')
})

it('refuses arguments that are not a server', () => {
  expect(() => fastifyBinding({} as typeof echo)).toThrow(TypeError)
  expect(() => fastifyBinding({ handler: echo.handler } as typeof echo)).toThrow(
    /createS3Server\(\) or db\(\)/,
  )
})

it('refuses a Request from elsewhere', () => {
  expect(() => fastifyRequest(new Request('http://localhost/'))).toThrow(TypeError)
})
