// Mounts the library with a binding in its framework, in any runtime. Argument: the framework.
import express from 'express'
import fastify from 'fastify'
import Koa from 'koa'
import { expressBinding } from '@svc/db/express'
import { fastifyBinding } from '@svc/db/fastify'
import { koaBinding } from '@svc/db/koa'
import process from 'node:process'
import { s3 } from './s3.mjs'

const { HOST: host, PORT: port } = process.env
const frameworks = {
  express: () => express().use(expressBinding(s3)).listen(Number(port), host),
  fastify: () =>
    fastify()
      .register(fastifyBinding(s3))
      .listen({ host, port: Number(port) }),
  koa: () => new Koa().use(koaBinding(s3)).listen(Number(port), host),
}
await frameworks[process.argv[2]]()
