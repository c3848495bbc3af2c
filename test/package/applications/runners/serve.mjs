// Serves the API for a client in another process. Prints its URL.
import { createServer } from 'node:http'
import express from 'express'
import { createS3Server, db, memoryStorage } from '@svc/db'
import { expressBinding } from '@svc/db/express'
import { memoryAdapter } from '@svc/db/memory'

const s3 = createS3Server({
  storage: memoryStorage(),
  bucket: 'files',
  plugins: [db({ client: memoryAdapter(), resolveScope: () => 'user:ann' })],
})
const server = createServer(express().use(expressBinding(s3)))
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`))
