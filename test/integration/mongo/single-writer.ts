import { mongoAdapter } from '@svc/db/mongo'
import { MongoClient } from 'mongodb'

export interface SingleWrite {
  readonly url: string
  readonly database: string
  readonly scope: string
}

/** Reserves a key in the scope, and sends the id of the row. */
process.once('message', ({ url, database, scope }: SingleWrite) => {
  const client = new MongoClient(url)
  const store = mongoAdapter(client.db(database))
  const at = { scope, bucket: 'files', key: 'of the other process' }
  void store
    .reserve({ ...at, declaredSize: 5, expiresAt: new Date('2100-01-01') })
    .then(({ id }) => process.send?.(id))
    .finally(() => client.close())
    .finally(() => process.disconnect())
})
