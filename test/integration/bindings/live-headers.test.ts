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

/** What middleware does to the headers of a request by Eve, and what `resolveScope` then leads to. */
const changes: Readonly<Record<string, readonly [(message: IncomingMessage) => void, unknown[]]>> = {
  nothing: [() => undefined, [200, 'user:eve.txt']],
  replaces: [({ headers }) => (headers['x-scope'] = 'user:ann'), [200, 'user:ann.txt']],
  deletes: [({ headers }) => delete headers['x-scope'], [401]],
  empties: [({ headers }) => (headers['x-scope'] = undefined), [401]],
  'replaces all': [(message) => (message.headers = { 'x-scope': 'user:ann' }), [200, 'user:ann.txt']],
  'adds a value in another spelling': [
    ({ headers }) => (headers['X-Scope'] = ['user:ann']),
    [200, 'user:eve, user:ann.txt'],
  ],
  'adds invalid headers': [
    ({ headers }) =>
      Object.assign(headers, { ':path': '/', 'x y': '1', 'x-snow': '☃', 'x-scope': 'user:ann' }),
    [200, 'user:ann.txt'],
  ],
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

  it('are those of the message for resolveScope, whatever middleware changes after a logger', async () => {
    for (const [what, [change, expected]] of Object.entries(changes)) {
      expect([what, ...(await listedBy(withLogger().use(changing(change))))]).toEqual([what, ...expected])
    }
  })

  it('are those that middleware has changed before there is a Request', async () => {
    for (const what of ['replaces', 'adds invalid headers']) {
      expect(await listedBy(newApp().use(changing(changes[what]![0])))).toEqual([200, 'user:ann.txt'])
    }
  })

  it('are up to date in copies that resolveScope makes', async () => {
    const app = () => withLogger().use(changing(changes['replaces']![0]))

    expect(await listedBy(app(), (request) => readScope(new Request(request)))).toEqual([200, 'user:ann.txt'])
    expect(await listedBy(app(), (request) => readScope(request.clone()))).toEqual([200, 'user:ann.txt'])
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
