// Prints the messages with which the library refuses packages that are older than it supports.
import * as http from 'node:http'
import express from 'too-old-express'
import { MongoClient } from 'too-old-mongodb'
import { createS3Server, db, memoryStorage } from '@svc/db'
import { expressBinding } from '@svc/db/express'
import { memoryAdapter } from '@svc/db/memory'
import { mongoAdapter } from '@svc/db/mongo'

try {
  mongoAdapter(new MongoClient('mongodb://127.0.0.1').db())
} catch (error) {
  console.log(`${error}`)
}

const plugins = [db({ client: memoryAdapter(), resolveScope: () => 'ann' })]
const app = express()
app.use(expressBinding(createS3Server({ storage: memoryStorage(), bucket: 'files', plugins })))
app.use((error, req, res, next) => {
  if (res.headersSent) return next(error)
  res.end(`${error}`)
})
const server = http.createServer(app)
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
const response = await fetch(`http://127.0.0.1:${server.address().port}/`)
console.log(await response.text())
server.close()
server.closeAllConnections()
