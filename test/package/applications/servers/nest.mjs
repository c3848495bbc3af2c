// Mounts the library in NestJS. Arguments: the platform, and the place.
import 'reflect-metadata'
import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { expressBinding } from '@svc/db/express'
import { fastifyBinding } from '@svc/db/fastify'
import { s3, upload } from './upload.mjs'

const [platform, place] = process.argv.slice(2)
const isInModule = place === 'module' || place === 'prefixed'

class Application {
  configure(consumer) {
    if (isInModule) consumer.apply(expressBinding(s3)).forRoutes('*path')
  }
}
Module({})(Application)

const logger = { log() {}, warn() {}, error: (error) => console.log(`${error}`) }
const adapter = platform === 'fastify' ? new FastifyAdapter() : new ExpressAdapter()
const app = await NestFactory.create(Application, adapter, { logger })
if (place === 'prefixed') app.setGlobalPrefix('v1')
if (place === 'use') app.use(expressBinding(s3))
if (place === 'register') await app.register(fastifyBinding(s3))
await app.listen(0, '127.0.0.1')
await upload((await app.getUrl()) + (place === 'prefixed' ? '/v1' : ''))
