import { createServer } from 'node:http'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

/** Size of a part in bytes. */
export const PART = 8 * 1024 ** 2

const CORS = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'PUT',
  'access-control-max-age': '600',
}

/**
 * Starts a page with an API that starts uploads of any size, and a bucket on another origin that drops the bytes, so that only the
 * browser's work is measured. Both sides of a comparison use it.
 */
export async function startServer() {
  const script = await bundlePage()
  /** Bytes per millisecond that the bucket takes, of all requests together. */
  let rate = Infinity
  let freeAt = 0
  let onPut = () => {}
  let [uploads, size] = [0, 0]

  const bucket = createServer((req, res) => {
    if (req.method === 'OPTIONS') return res.writeHead(204, CORS).end()
    onPut()
    req.on('data', ({ length }) => {
      const now = performance.now()
      freeAt = Math.max(freeAt, now) + length / rate
      if (freeAt - now < 5) return
      req.pause()
      setTimeout(() => req.resume(), freeAt - now)
    })
    req.on('end', () => res.writeHead(200, CORS).end())
  })
  const bucketURL = await listen(bucket)

  const objectOf = (key) => {
    const object = { id: key, bucket: 'files', key, status: 'pending' }
    return { ...object, createdAt: new Date().toISOString(), filename: 'film.mp4', declaredSize: size }
  }
  const soon = () => new Date(Date.now() + 900_000).toISOString()
  const endpoints = {
    '/upload': ({ size: declared }) => {
      size = declared
      const upload = { method: 'PUT', url: `${bucketURL}/0`, headers: {}, expiresAt: soon() }
      return { object: objectOf(String(uploads++)), upload }
    },
    '/upload/confirm': ({ key }) => ({ object: { ...objectOf(key), status: 'active', size } }),
    '/multipart': ({ size: declared }) => {
      size = declared
      return { object: objectOf(String(uploads++)), uploadId: 'upload', partSize: PART }
    },
    '/multipart/parts': ({ partNumbers }) => ({
      parts: partNumbers.map((number) => ({
        url: `${bucketURL}/${number}`,
        expiresAt: soon(),
      })),
    }),
    '/multipart/list': () => ({ partSize: PART, parts: [] }),
    '/multipart/complete': ({ key }) => ({ object: { ...objectOf(key), status: 'active', size } }),
  }
  const api = createServer(async (req, res) => {
    const answer = endpoints[req.url.replace('/api/s3', '')]
    if (!answer) {
      return res
        .setHeader('content-type', 'text/html')
        .end(`<input type="file"><script type="module">${script}</script>`)
    }
    const body = JSON.parse(Buffer.concat(await req.toArray()).toString())
    res.setHeader('content-type', 'application/json').end(JSON.stringify(answer(body)))
  })
  return {
    url: await listen(api),
    /** Limits the bucket to so many Mbit/s. */
    limit: (megabits) => (rate = (megabits * 1e6) / 8 / 1000),
    /** Resolves once so many PUTs have begun. */
    puts: (count) => new Promise((resolve) => (onPut = () => --count === 0 && resolve())),
    stop() {
      for (const server of [api, bucket]) server.close().closeAllConnections()
    },
  }
}

async function listen(server) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${server.address().port}`
}

async function bundlePage() {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('page.mjs', import.meta.url))],
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
  })
  return outputFiles[0].text
}
