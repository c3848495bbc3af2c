import { MongoClient } from 'mongodb'
import { mongoAdapter } from '@svc/db/mongo'
import { misses } from '../ratios.mjs'
import { printTable } from '../ratio-table.mjs'
import { upload } from '../servers/store-calls.mjs'

/** Commands of reserve + confirm in 1.5.5: each finds, updates and commits. */
const COMMANDS_OF_VERSION_1_5 = 6

/** Counts the commands of reserve + confirm with events off and on. Events may add one, and nothing while they are off. */
export async function countCommands(url, database) {
  const client = new MongoClient(url, { monitorCommands: true })
  const counts = {}
  for (const [name, events] of Object.entries({ off: false, on: true })) {
    const collectionPrefix = `bench_counted_${name}_`
    const store = mongoAdapter(client.db(database), { collectionPrefix, events })
    await store.migrate()
    // The first call also reads the schema version.
    await upload(store, 'user:counted')
    counts[name] = 0
    const count = () => counts[name]++
    client.on('commandStarted', count)
    await upload(store, 'user:counted')
    client.off('commandStarted', count)
  }
  await client.close()
  const result = (name, ratio, most) => ({ name, ratio, bar: { most }, missed: misses(ratio, { most }) })
  printTable('Commands of reserve + confirm', [
    ['1.5.5', 'events off', 'events on'],
    [COMMANDS_OF_VERSION_1_5, counts.off, counts.on].map(String),
  ])
  return [
    result('events off, compared with 1.5.5', counts.off / COMMANDS_OF_VERSION_1_5, 0.84),
    result('events on, compared with events off', counts.on / counts.off, 1.25),
  ]
}
