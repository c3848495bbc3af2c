import { db } from '@svc/db'
import { compare } from './compare.mjs'
import { scope, storeWithRows } from './tracked-scopes.mjs'

const { Request, Response } = globalThis
const url = 'http://localhost/api/s3/db/objects'
const query = { scope, status: 'active', limit: 50 }

/** What the path of a request adds to the store's call: routing, the scope, input checks and the answer. */
export async function compareEndpoint() {
  const store = storeWithRows(1000)
  const { handler } = db({ client: store, resolveScope: () => scope })
  const answer = await handler(new Request(url))
  if (answer.status !== 200) throw new Error(`The endpoint to be measured answers ${answer.status}.`)

  const guarded = repeat(async () => (await handler(new Request(url))).text())
  return [
    await compare({
      name: 'beside the bare store call',
      base: repeat(() => store.listByScope(query)),
      subject: guarded,
    }),
    await compare({
      name: 'beside a handler without guards or checks',
      base: repeat(async () => (await unguarded(store, new Request(url))).text()),
      subject: guarded,
    }),
  ]
}

/** The least that an HTTP endpoint can do with that page: read the URL, call the store, answer its rows as JSON. */
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
