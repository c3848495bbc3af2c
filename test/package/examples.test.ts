import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createS3Client, dbClient } from '@svc/db/client'
import { startExample, type ExampleProcess } from '../servers/example-process.js'

/** Sends requests like a browser: keeps the cookies that the server sets. */
class Visitor {
  readonly #origin: string
  readonly #cookies = new Map<string, string>()

  constructor(origin: string) {
    this.#origin = origin
  }

  async send(request: string, body?: unknown): Promise<Response> {
    const [method = '', path = ''] = request.split(' ')
    const type = typeof body === 'string' ? 'text/plain' : 'application/json'
    const response = await fetch(this.#origin + path, {
      method,
      headers: {
        cookie: this.#cookie(),
        ...(body !== undefined && { 'content-type': type }),
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    for (const line of response.headers.getSetCookie()) {
      const [name = '', value = ''] = line.split(';')[0]!.split('=')
      if (value === '') this.#cookies.delete(name)
      else this.#cookies.set(name, value)
    }
    return response
  }

  async status(request: string, body?: unknown): Promise<number> {
    const response = await this.send(request, body)
    await response.arrayBuffer()
    return response.status
  }

  /** The client of the library, with the session of this visitor. */
  get api() {
    const headers = { cookie: this.#cookie() }
    return createS3Client({ baseURL: this.#origin, headers, plugins: [dbClient()] }).api
  }

  async upload(name: string, text: string): Promise<string> {
    return (await this.api.upload(new File([text], name, { type: 'text/plain' }))).key
  }

  #cookie(): string {
    return [...this.#cookies].map((pair) => pair.join('=')).join('; ')
  }
}

describe.each(['express', 'koa', 'fastify'])('examples/%s', (framework) => {
  let example: ExampleProcess
  beforeAll(async () => {
    example = await startExample(`examples/${framework}/server.mjs`)
  })
  afterAll(async () => {
    // Ends although the visitors' connections are still open.
    expect(await example.stop('SIGTERM')).toEqual({ code: 0, complaints: '' })
  })

  async function signedIn(user: string): Promise<Visitor> {
    const visitor = new Visitor(example.url)
    expect(await visitor.status('POST /login', { user })).toBe(204)
    return visitor
  }

  it('keeps serving its existing routes and requires a login for the API', async () => {
    const visitor = new Visitor(example.url)
    expect(await (await visitor.send('GET /health')).text()).toBe('ok')
    expect(await visitor.status('GET /missing')).toBe(404)
    expect(await visitor.status('POST /login', { user: 'mallory' })).toBe(401)
    expect(await visitor.status('GET /api/s3/db/objects')).toBe(401)
  })

  it('limits each user to their own objects and returns 401 after logout', async () => {
    const ann = await signedIn('ann')
    const bob = await signedIn('bob')
    const key = await ann.upload('plan.txt', 'to the sea')
    const download = `GET /api/s3/download?key=${encodeURIComponent(key)}`
    const list = async ({ api }: Visitor) => (await api.db.listObjects()).objects

    expect(await list(ann)).toMatchObject([{ key, filename: 'plan.txt', bucket: 'files' }])
    expect(await (await fetch((await ann.api.download({ key })).url)).text()).toBe('to the sea')

    expect(await list(bob)).toEqual([])
    expect(await bob.status(download)).toBe(404)
    expect(await bob.status(`DELETE /api/s3/object?key=${encodeURIComponent(key)}`)).toBe(404)

    expect(await ann.status('POST /logout')).toBe(204)
    expect(await ann.status('GET /api/s3/db/objects')).toBe(401)
    expect(await ann.status(download)).toBe(401)
    expect(await list(await signedIn('ann'))).toMatchObject([{ key }])
  })

  it('lets the owner share a file with named users, with everybody and with nobody', async () => {
    const [ann, bob, eve] = [await signedIn('ann'), await signedIn('bob'), await signedIn('eve')]
    const anonymous = new Visitor(example.url)
    const key = await ann.upload('sea.txt', 'a picture of the sea')
    const file = `GET /api/s3/file?key=${encodeURIComponent(key)}`
    const readersOfFile = async () =>
      Promise.all([ann, bob, eve, anonymous].map((visitor) => visitor.status(file)))

    expect(await bob.status('PUT /readers', { key, readers: 'user:bob' })).toBe(404)
    expect(await anonymous.status('PUT /readers', { key, readers: 'everybody' })).toBe(401)
    expect(await ann.status('PUT /readers', { key })).toBe(400)
    expect(await ann.status('PUT /readers')).toBe(400)
    expect(await readersOfFile()).toEqual([200, 404, 404, 401])

    expect(await ann.status('PUT /readers', { key, readers: 'user:bob' })).toBe(204)
    expect(await readersOfFile()).toEqual([200, 200, 404, 401])
    expect(await bob.status(`DELETE /api/s3/object?key=${encodeURIComponent(key)}`)).toBe(404)
    expect(await ann.status('PUT /readers', { key, readers: 'everybody' })).toBe(204)
    expect(await readersOfFile()).toEqual([200, 200, 200, 200])
    expect(await ann.status('PUT /readers', { key, readers: '' })).toBe(204)
    expect(await readersOfFile()).toEqual([200, 404, 404, 401])
  })

  it('computes the checksum of each upload in the background', async () => {
    const ann = await signedIn('ann')
    const key = await ann.upload('sum.txt', 'to be summed up')
    const checksum = `GET /checksum?key=${encodeURIComponent(key)}`
    const sha256 = createHash('sha256').update('to be summed up').digest('hex')
    const recorded = async () => (await (await ann.send(checksum)).json()) as unknown
    await expect.poll(recorded).toEqual({ sha256 })
    expect(await (await signedIn('bob')).status(checksum)).toBe(404)
    expect(await ann.status('GET /checksum')).toBe(400)
  })

  it('lets only the owner and the named readers read a note and copy its latest text', async () => {
    const [ann, bob, eve] = [await signedIn('ann'), await signedIn('bob'), await signedIn('eve')]
    const anonymous = new Visitor(example.url)
    for (const text of ['first', 'second']) {
      expect(await ann.status('POST /notes/plan?readers=user:bob', text)).toBe(201)
    }
    const readers = [ann, bob, eve, anonymous]
    const statuses = readers.map((visitor) => visitor.status('GET /notes/plan'))
    expect(await Promise.all(statuses)).toEqual([200, 200, 404, 404])
    expect(await bob.status('POST /notes/plan', 'mine now')).toBe(409)
    expect(await bob.status('POST /notes/plan/copy', { as: 'copy' })).toBe(201)
    expect(await (await bob.send('GET /notes/copy')).text()).toBe('second')
    expect(await eve.status('POST /notes/plan/copy', { as: 'copy of eve' })).toBe(404)

    const json = await ann.send('POST /notes/json', { no: 'text' })
    expect([json.status, await json.json()]).toMatchObject([400, { params: { field: 'body' } }])
  })

  it('enforces the quota in the API and in the routes of the example', async () => {
    const [ann, eve] = [await signedIn('ann'), await signedIn('eve')]
    expect(await eve.status('POST /notes/long', 'x'.repeat(1001))).toBe(413)
    expect(await eve.status('POST /notes/full', 'x'.repeat(995))).toBe(201)
    expect(await eve.status('POST /api/s3/upload', { filename: 'a', contentType: 'a/b', size: 6 })).toBe(413)
    expect(await ann.status('POST /notes/short?readers=user:eve', '12345')).toBe(201)
    expect(await ann.status('POST /notes/other?readers=user:eve', '123456')).toBe(201)
    expect(await eve.status('POST /notes/other/copy', { as: 'copy of other' })).toBe(413)
    expect(await eve.status('POST /notes/short/copy', { as: 'copy of short' })).toBe(201)
    expect(await new Visitor(example.url).status('POST /notes/any', 'text')).toBe(401)
  })
})
