import { createServer } from 'vite'
import { expressBinding } from '@svc/db/express'
import { s3 } from './s3.mjs'

const plugin = {
  name: 'svc-db',
  configureServer: ({ middlewares }) => void middlewares.use(expressBinding(s3)),
}
const server = { host: process.env.HOST, port: Number(process.env.PORT), hmr: false, ws: false }
const vite = await createServer({ configFile: false, logLevel: 'error', server, plugins: [plugin] })
await vite.listen()
