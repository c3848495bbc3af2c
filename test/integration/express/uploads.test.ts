import type { RequestHandler } from 'express'
import { describe, expect, it } from 'vitest'
import { createS3Server, db, memoryStorage, type DbClientObject } from '@svc/db'
import { expressBinding } from '@svc/db/express'
import { memoryAdapter } from '@svc/db/memory'
import { listen } from '../bindings/listening.js'
import { RawConnection } from '../bindings/raw-connection.js'
import { proxyTo } from '../bindings/reverse-proxy.js'
import { versions, type Express } from './versions.js'

interface Begun {
  readonly object: DbClientObject
  readonly upload: { readonly url: string; readonly headers: Record<string, string> }
}

function server(storage = memoryStorage()) {
  const plugins = [db({ client: memoryAdapter(), resolveScope: () => 'user:1' })] as const
  return createS3Server({ storage, bucket: 'files', plugins })
}

async function begin(baseURL: string, contentType: string, size: number): Promise<Begun> {
  const response = await fetch(`${baseURL}/upload`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ filename: 'a', contentType, size }),
  })
  expect(response.status).toBe(201)
  return (await response.json()) as Begun
}

/** Consumes the files of a form, like multer, and discards their bytes. */
const consumer: RequestHandler = (req, _res, next) => {
  if (req.method !== 'PUT') return next()
  req.resume().on('end', () => next())
}

const consumers: Readonly<
  Record<string, readonly [type: string, body: string, (express: Express) => RequestHandler]>
> = {
  'express.json()': ['application/json', '{"a":1}', (express) => express.json()],
  'express.text()': ['text/plain', 'text', (express) => express.text()],
  'express.urlencoded()': [
    'application/x-www-form-urlencoded',
    'a=1',
    (express) => express.urlencoded({ extended: false }),
  ],
  'a consumer that leaves nothing': ['image/png', 'bytes', () => consumer],
}

describe.each(versions)('uploads through $name', ({ express }) => {
  it.each(Object.entries(consumers))(
    'are refused if %s has consumed the bytes',
    async (_name, [type, body, parser]) => {
      const { url } = await listen(express().use(parser(express), expressBinding(server())))
      const { upload } = await begin(`${url}/api/s3`, type, body.length)

      const response = await fetch(upload.url, { method: 'PUT', headers: upload.headers, body })

      expect(response.status).toBe(400)
      expect(await response.json()).toMatchObject({ code: 'VALIDATION_ERROR', params: { field: 'body' } })
    },
  )

  it('can be empty, behind any parser', async () => {
    const { url } = await listen(express().use(express.json(), express.text(), expressBinding(server())))
    for (const type of ['application/json', 'text/plain', 'image/png']) {
      const { upload } = await begin(`${url}/api/s3`, type, 0)
      const response = await fetch(upload.url, { method: 'PUT', headers: upload.headers, body: '' })
      expect(response.status).toBe(200)
    }
  })

  it('store nothing if the connection breaks', async () => {
    const { url, port, host } = await listen(express().use(expressBinding(server())))
    const { object, upload } = await begin(`${url}/api/s3`, 'image/png', 10)
    const headers = Object.entries(upload.headers).map(([name, value]) => `${name}: ${value}\r\n`)
    const { pathname } = new URL(upload.url)
    const connection = await RawConnection.open(port)
    connection.send(
      `PUT ${pathname} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 10\r\n${headers.join('')}\r\nhalf`,
    )
    connection.socket.end()
    await connection.rest()

    const confirm = await fetch(`${url}/api/s3/upload/confirm`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ key: object.key, id: object.id }),
    })

    expect(await confirm.json()).toMatchObject({ code: 'UPLOAD_MISMATCH' })
    const second = await fetch(upload.url, { method: 'PUT', headers: upload.headers, body: '0123456789' })
    expect(second.status).toBe(200)
  })

  it('use URLs below the mount path', async () => {
    const app = express().use('/:tenant', express.Router().use(expressBinding(server())))
    const { url } = await listen(app)

    const { upload } = await begin(`${url}/acme/api/s3`, 'image/png', 5)

    expect(upload.url.startsWith(`${url}/acme/api/s3/_storage/`)).toBe(true)
    const response = await fetch(upload.url, { method: 'PUT', headers: upload.headers, body: 'bytes' })
    expect(response.status).toBe(200)
  })

  it('work behind a proxy that strips the path', async () => {
    const hidden = { port: 0 }
    const proxy = await proxyTo(hidden)
    const baseURL = `${proxy.url}/app/api/s3/_storage`
    const app = express().use(expressBinding(server(memoryStorage({ baseURL }))))
    hidden.port = (await listen(app)).port

    const { upload } = await begin(`${proxy.url}/app/api/s3`, 'image/png', 5)

    expect(upload.url.startsWith(`${baseURL}/`)).toBe(true)
    const response = await fetch(upload.url, { method: 'PUT', headers: upload.headers, body: 'bytes' })
    expect(response.status).toBe(200)
  })
})
