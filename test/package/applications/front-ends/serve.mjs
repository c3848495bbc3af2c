// Serves a front end for development, with a proxy for the API at a URL. Prints its own URL.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'

const [, , name, target] = process.argv
const require = createRequire(import.meta.url)
const listen = async (server) => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return server.address().port
}

const fronts = {
  async vite() {
    const { createServer: createVite } = await import('vite')
    const server = { host: '127.0.0.1', port: 0, proxy: { '/api': target }, hmr: false }
    const vite = await createVite({ configFile: false, logLevel: 'silent', server })
    await vite.listen()
    return vite.httpServer.address().port
  },
  async 'http-proxy-middleware'() {
    const { createProxyMiddleware } = require('http-proxy-middleware')
    return listen(createServer(createProxyMiddleware({ target, changeOrigin: true, pathFilter: '/api' })))
  },
  async 'webpack-dev-server'() {
    const WebpackDevServer = require('webpack-dev-server')
    const compiler = require('webpack')({
      mode: 'development',
      entry: 'data:text/javascript,',
      infrastructureLogging: { level: 'none' },
    })
    const proxy = [{ context: ['/api'], target, changeOrigin: true }]
    const server = new WebpackDevServer({ host: '127.0.0.1', port: 'auto', proxy }, compiler)
    await server.start()
    return server.server.address().port
  },
  async next() {
    process.env.API = target
    process.env.NEXT_TELEMETRY_DISABLED = '1'
    const app = require('next')({
      dev: true,
      dir: import.meta.dirname ?? process.cwd(),
      hostname: '127.0.0.1',
      port: 0,
    })
    const server = createServer(app.getRequestHandler())
    await app.prepare()
    return listen(server)
  },
}
console.log(`http://127.0.0.1:${await fronts[name]()}`)
