import { db } from '@svc/db'
import { compare } from './compare.mjs'
import { scope, storeWithRows } from './tracked-scopes.mjs'

const { Request, Response } = globalThis
const url = 'http://localhost/api/s3/db/objects'
const query = { scope, status: 'active', limit: 50 }

/** Measures what a request adds to the store call: routing, the scope, input validation and the response. */
export async function compareEndpoint() {
  const store = storeWithRows(1000)
  const { handler } = db({ client: store, resolveScope: () => scope })
  const response = await handler(new Request(url))
  if (response.status !== 200) throw new Error(`The measured endpoint returned ${response.status}.`)

  const guarded = repeat(async () => (await handler(new Request(url))).text())
  return [
    await compare({
      name: 'compared with the bare store call',
      base: repeat(() => store.listByScope(query)),
      subject: guarded,
    }),
    await compare({
      name: 'compared with a handler without guards or validation',
      base: repeat(async () => (await unguarded(store, new Request(url))).text()),
      subject: guarded,
    }),
  ]
}

/** Does the minimum of an HTTP endpoint: reads the URL, calls the store and returns its rows as JSON. */
async function unguarded(store, request) {
  const { searchParams } = new URL(request.url)
  const limit = Number(searchParams.get('limit') ?? query.limit)
  const { objects, nextCursor } = await store.listByScope({ ...query, limit })
  const rows = objects.map(({ id, bucket, key, status, createdAt, size, route }) => ({
    id,
    bucket,
    key,
    status,
    createdAt,
    size,
    route,
  }))
  return Response.json({ objects: rows, nextCursor })
}

function repeat(call) {
  return {
    async run(calls) {
      for (let done = 0; done < calls; done++) await call()
    },
  }
}
