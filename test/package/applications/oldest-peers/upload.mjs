// Uploads a file over HTTP, lists, downloads and deletes it. Arguments: the framework, and optionally the URL of a bucket
// service, which then stores the bytes.
import assert from 'node:assert/strict'
import * as http from 'node:http'
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { createAdaptorServer } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { createS3Server, db, memoryStorage } from '@svc/db'
import { createS3Client, dbClient } from '@svc/db/client'
import { expressBinding, expressRequest } from '@svc/db/express'
import { fastifyBinding, fastifyRequest } from '@svc/db/fastify'
import { honoBinding, honoContext } from '@svc/db/hono'
import { koaBinding, koaContext } from '@svc/db/koa'
import { memoryAdapter } from '@svc/db/memory'
import { s3Storage } from '@svc/db/s3'

const [framework, url] = process.argv.slice(2)
const bucket = `oldest-${process.pid}`
const storage = url === undefined ? memoryStorage() : await bucketStorage(new URL(url))
const frameworks = {
  express: { userOf: (request) => expressRequest(request).get('x-user'), createServer: inExpress },
  fastify: { userOf: (request) => fastifyRequest(request).headers['x-user'], createServer: inFastify },
  hono: { userOf: (request) => honoContext(request).req.header('x-user'), createServer: inHono },
  koa: { userOf: (request) => koaContext(request).get('x-user'), createServer: inKoa },
}
const { userOf, createServer } = frameworks[framework]
const s3 = createS3Server({
  storage,
  bucket,
  plugins: [db({ client: memoryAdapter(), resolveScope: (request) => userOf(request) || null })],
})

const server = await createServer()
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
const baseURL = `http://127.0.0.1:${server.address().port}`

const { api } = createS3Client({ baseURL, headers: { 'x-user': 'ann' }, plugins: [dbClient()] })
const { key } = await api.upload(new File(['hello'], 'hello ä.txt', { type: 'text/plain' }))
const { objects } = await api.db.listObjects()
assert.deepEqual(
  objects.map(({ filename, size }) => [filename, size]),
  [['hello ä.txt', 5]],
)
const link = await api.download({ key })
assert.equal(await (await fetch(link.url)).text(), 'hello')
await api.delete({ key })
assert.equal(await api.db.getObject({ key }), null)
// From the second one on, URLs are signed without building each request.
const next = await api.upload(new File(['again'], 'b.txt', { type: 'text/plain' }))
assert.equal(await (await fetch((await api.download({ key: next.key })).url)).text(), 'again')

const anonymous = await fetch(`${baseURL}/api/s3/db/objects`)
assert.equal(anonymous.status, 401)
assert.equal(await (await fetch(`${baseURL}/own`)).text(), 'own')
console.log('served')
server.close()
server.closeAllConnections()

function inExpress() {
  const app = express()
  app.use(express.json())
  app.use(expressBinding(s3))
  app.get('/own', (req, res) => res.send('own'))
  return http.createServer(app)
}

function inKoa() {
  const app = new Koa()
  app.use(koaBinding(s3))
  app.use((ctx) => {
    ctx.body = 'own'
  })
  return http.createServer(app.callback())
}

async function inFastify() {
  const app = fastify()
  app.register(fastifyBinding(s3))
  app.get('/own', async () => 'own')
  await app.ready()
  return app.server
}

function inHono() {
  const app = new Hono()
  app.use(honoBinding(s3))
  app.get('/own', (c) => c.text('own'))
  return createAdaptorServer({ fetch: app.fetch })
}

async function bucketStorage({ origin, username, password }) {
  const client = new S3Client({
    endpoint: origin,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: username, secretAccessKey: password },
  })
  await client.send(new CreateBucketCommand({ Bucket: bucket }))
  return s3Storage({ client })
}
