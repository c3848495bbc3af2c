import { createServer } from 'node:http'
import polka from 'polka'
import { expressBinding } from '@svc/db/express'
import { s3, upload } from './upload.mjs'

const app = polka().use('/v1', expressBinding(s3))
const server = createServer(app.handler).listen(0, '127.0.0.1', () =>
  upload(`http://127.0.0.1:${server.address().port}/v1`),
)
