// Mounts the library in NestJS. Arguments: the platform, the place, and `raw` for an application with `rawBody`, or `wide` for one whose
// parser also takes long JSON.
import 'reflect-metadata'
import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { expressBinding } from '@svc/db/express'
import { fastifyBinding } from '@svc/db/fastify'
import { s3 } from './s3.mjs'

const [platform, place, raw] = process.argv.slice(2)
const isInModule = place === 'module' || place === 'prefixed'

class Application {
  configure(consumer) {
    if (isInModule) consumer.apply(expressBinding(s3)).forRoutes('*path')
  }
}
Module({})(Application)

const logger = { log() {}, warn() {}, error: (error) => console.error(error) }
const adapter = platform === 'fastify' ? new FastifyAdapter() : new ExpressAdapter()
const app = await NestFactory.create(Application, adapter, { logger, rawBody: raw !== undefined })
if (raw === 'wide') app.useBodyParser('json', { limit: '16mb' })
if (place === 'prefixed') app.setGlobalPrefix('v1')
if (place === 'use') app.use(expressBinding(s3))
if (place === 'register') await app.register(fastifyBinding(s3))
await app.listen(process.env.PORT, process.env.HOST)
