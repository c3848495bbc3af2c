import { createServer } from 'node:http'
import { createServer as createVite } from 'vite'
import { expressBinding } from '@svc/db/express'
import { s3, upload } from './upload.mjs'

const vite = await createVite({
  configFile: false,
  logLevel: 'silent',
  appType: 'custom',
  server: { middlewareMode: true, hmr: false, ws: false },
  plugins: [
    { name: 'svc-db', configureServer: ({ middlewares }) => void middlewares.use(expressBinding(s3)) },
  ],
})
const server = createServer(vite.middlewares).listen(0, '127.0.0.1', () =>
  upload(`http://127.0.0.1:${server.address().port}`),
)
