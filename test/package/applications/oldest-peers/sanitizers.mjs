// Uploads a file behind or in front of middleware that rewrites bodies, and prints what is recorded. Arguments: the package
// of the middleware, and "behind" or "in front".
import * as http from 'node:http'
import express from 'express'
import { createS3Server, db, memoryStorage } from '@svc/db'
import { createS3Client, dbClient } from '@svc/db/client'
import { expressBinding } from '@svc/db/express'
import { memoryAdapter } from '@svc/db/memory'

const [name, place] = process.argv.slice(2)
const { default: sanitize } = await import(name)
const plugins = [db({ client: memoryAdapter(), resolveScope: () => 'ann' })]
const s3 = createS3Server({ storage: memoryStorage(), bucket: 'files', plugins })
const binding = expressBinding(s3)

const app = express()
app.use(place === 'behind' ? [express.json(), sanitize(), binding] : [binding, express.json(), sanitize()])
const server = http.createServer(app)
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))

const baseURL = `http://127.0.0.1:${server.address().port}`
const { api } = createS3Client({ baseURL, plugins: [dbClient()] })
const metadata = { 'camera.model': 'X', title: 'a' }
const { key } = await api.upload(new File(['hello'], 'a<b>.txt', { type: 'text/plain' }), { metadata })
const object = await s3.db.objects.find({ bucket: 'files', key })
console.log(JSON.stringify({ filename: object.filename, metadata: object.metadata }))
server.close()
server.closeAllConnections()
