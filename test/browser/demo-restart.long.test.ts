import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { MongoClient } from 'mongodb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findServer } from '../servers/found-server.js'
import { createDatabase } from '../servers/fresh-database.js'
import { MONGODB } from '../servers/mongod.js'
import { POSTGRES } from '../servers/postgres.js'
import type { PrivateFolder } from '../servers/private-server.js'
import { findChromium, useBrowser } from './chromium.js'
import { demoFolder } from './demo-folders.js'
import { expectToSurviveRestarts, restartTests } from './demo-restart.js'

const SIGNALS = ['SIGTERM', 'SIGKILL'] as const

const executablePath = await findChromium()
const [postgres, mongodb] = await Promise.all([findServer(POSTGRES), findServer(MONGODB)])
if ('reason' in postgres) console.warn(`Skipped: the demo on PostgreSQL. There is ${postgres.reason}`)
if ('reason' in mongodb) console.warn(`Skipped: the demo on MongoDB. There is ${mongodb.reason}`)

let folder: PrivateFolder
beforeAll(async () => {
  folder = await demoFolder()
})
afterAll(async () => {
  await folder.remove('SIGKILL')
  for (const server of [postgres, mongodb]) if (!('reason' in server)) await server.stop()
})

describe.skipIf(executablePath === null)('a restart of the demo', () => {
  const browser = useBrowser(executablePath)
  restartTests(browser, SIGNALS)

  it.skipIf('reason' in postgres)('keeps files and links on PostgreSQL', async () => {
    if ('reason' in postgres) return
    const database = await createDatabase(postgres.url)
    try {
      const settings = { DATABASE_URL: database.url }
      await expectToSurviveRestarts(
        browser(),
        { dataFolder: join(folder.path, 'postgres'), settings },
        SIGNALS,
      )
      const { rows } = await database.query('SELECT scope, count(*)::int FROM svc_db.objects GROUP BY scope')
      expect(rows).toEqual([{ scope: 'user:ada', count: 4 }])
    } finally {
      await database.drop()
    }
  })

  it.skipIf('reason' in mongodb)('keeps files and links on MongoDB', async () => {
    if ('reason' in mongodb) return
    const url = new URL(mongodb.url)
    url.pathname = `/demo_${randomBytes(6).toString('hex')}`
    const client = new MongoClient(url.href)
    try {
      const settings = { MONGODB_URL: url.href }
      await expectToSurviveRestarts(
        browser(),
        { dataFolder: join(folder.path, 'mongodb'), settings },
        SIGNALS,
      )
      const keys = client.db().collection('svc_db_objects').find({ scope: 'user:ada' })
      expect(await keys.toArray()).toHaveLength(4)
    } finally {
      await client.db().dropDatabase()
      await client.close()
    }
  })
})
