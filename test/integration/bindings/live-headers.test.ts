import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { createObjectAccessGuard, db } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import type { FrameworkApp, Step } from './framework.js'
import { frameworks } from './frameworks.js'

const owned = (scope: string) => ({ scope, bucket: 'files', key: `${scope}.txt` })
const client = memoryAdapter({ objects: ['user:ann', 'user:eve', 'user:eve, user:ann'].map(owned) })

/** Middleware that changes the message. */
const changing =
  (change: (message: IncomingMessage) => void): Step =>
  (message, _response, proceed) => {
    change(message)
    proceed()
  }

describe.each(frameworks)('the headers of a Request in $name', ({ app: newApp }) => {
  const readScope = (request: Request) => request.headers.get('x-scope')

  /** Requests a list as `user:eve`. Returns the status and the keys in the response. */
  async function listedBy(app: FrameworkApp, resolveScope: (request: Request) => string | null = readScope) {
    const { url } = await app.bind(db({ client, resolveScope })).listen()
    const response = await fetch(`${url}/api/s3/db/objects`, { headers: { 'x-scope': 'user:eve' } })
    const { objects } = (await response.json()) as { objects?: readonly { key: string }[] }
    return [response.status, ...(objects ?? []).map(({ key }) => key)]
  }

  /** Adds a logger that creates the `Request` and reads its headers. */
  const withLogger = (app = newApp()) => app.useWork(async (request) => void request.headers.get('x-scope'))

  it.each<[string, (message: IncomingMessage) => void, unknown[]]>([
    ['keeps', () => undefined, [200, 'user:eve.txt']],
    ['replaces', ({ headers }) => (headers['x-scope'] = 'user:ann'), [200, 'user:ann.txt']],
    ['deletes', ({ headers }) => delete headers['x-scope'], [401]],
    ['empties', ({ headers }) => (headers['x-scope'] = undefined), [401]],
    ['replaces all of', (message) => (message.headers = { 'x-scope': 'user:ann' }), [200, 'user:ann.txt']],
    [
      'adds a value in another spelling to',
      ({ headers }) => (headers['X-Scope'] = ['user:ann']),
      [200, 'user:eve, user:ann.txt'],
    ],
    [
      'adds invalid names to',
      ({ headers }) => Object.assign(headers, { ':path': '/', 'x y': '1', 'x-scope': 'user:ann' }),
      [200, 'user:ann.txt'],
    ],
  ])(
    'are those of the message for resolveScope, if middleware %s them after a logger',
    async (_, change, list) => {
      expect(await listedBy(withLogger().use(changing(change)))).toEqual(list)
    },
  )

  it('are up to date in copies that resolveScope makes', async () => {
    const app = () => withLogger().use(changing(({ headers }) => (headers['x-scope'] = 'user:ann')))

    expect(await listedBy(app(), (request) => readScope(new Request(request)))).toEqual([200, 'user:ann.txt'])
    expect(await listedBy(app(), (request) => readScope(request.clone()))).toEqual([200, 'user:ann.txt'])
  })

  it('change without creating a second Request', async () => {
    const requests: Request[] = []
    const app = newApp()
      .useWork(async (request) => void requests.push(request))
      .use(changing(({ headers }) => (headers['x-scope'] = 'user:ann')))
      .useWork(async (request) => void requests.push(request))
    expect(await listedBy(app)).toEqual([200, 'user:ann.txt'])

    expect(requests[1]).toBe(requests[0])
  })

  it('keep what the application sets on the Request', async () => {
    const app = newApp()
      .useWork(async (request) => request.headers.set('x-scope', 'user:ann'))
      .use(changing(({ headers }) => (headers['x-other'] = 'new')))
    expect(await listedBy(app)).toEqual([200, 'user:ann.txt'])
  })

  it.each([
    ['resolves', (request: Request) => `user:${request.headers.get('x-name')}`],
    ['rejects', () => Promise.reject(new Error('sign-in is broken'))],
  ])('are fixed once resolveScope %s', async (_, resolveScope) => {
    const guard = createObjectAccessGuard({ client, resolveScope })
    const app = newApp().route((request, response, message) => {
      async function run() {
        const { headers } = request
        const first = headers.get('x-name')
        message.headers['x-name'] = 'bob'
        const before = request.headers.get('x-name')
        await guard({ request, bucket: 'files', key: 'none.txt' }).catch(() => undefined)
        message.headers['x-name'] = 'ann'
        return [first, before, request.headers.get('x-name'), request.clone().headers.get('x-name')]
      }
      void run().then((names) => response.end(JSON.stringify(names)))
    })
    const { url } = await app.listen()

    const response = await fetch(url, { headers: { 'x-name': 'eve' } })

    expect(await response.json()).toEqual(['eve', 'bob', 'bob', 'bob'])
  })
})
