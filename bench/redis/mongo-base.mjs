import { MongoClient } from 'mongodb'
import { mongoAdapter } from '../mongo/adapter.mjs'
import { importSource } from '../own-source.mjs'

const { MONGODB, installedMongod, startReplicaSet } = await importSource('test/servers/mongod.ts')

/** The adapter on a server of its own, reached directly or by way of what `wayTo` starts; `null` where there is none. */
export async function startMongoBase(name, wayTo = async ({ port }) => ({ port, stop: async () => {} })) {
  const program = installedMongod()
  if (program === null) {
    console.error(`Skipped: the usage cache over ${name}. There is no server to start: ${MONGODB.howToGet}.`)
    return null
  }
  const set = await startReplicaSet(program, { members: 1, durable: true })
  const { hostname, port } = new URL(set.url)
  const way = await wayTo({ host: hostname, port: Number(port) })
  const client = new MongoClient(`mongodb://127.0.0.1:${way.port}/?directConnection=true`)
  const store = mongoAdapter(client.db('bench'))
  await store.migrate()
  return {
    name,
    store,
    async stop() {
      await client.close()
      await way.stop()
      await set.remove()
    },
  }
}
