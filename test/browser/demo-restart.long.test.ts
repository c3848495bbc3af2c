import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { MongoClient } from 'mongodb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findServer } from '../servers/found-server.js'
import { createDatabase } from '../servers/fresh-database.js'
import { MONGODB } from '../servers/mongod.js'
import { POSTGRES } from '../servers/postgres.js'
import { freePort, type PrivateFolder } from '../servers/private-server.js'
import { findChromium, useBrowser } from './chromium.js'
import { demoFolder } from './demo-folders.js'
import { openDemo } from './demo-page.js'
import { expectToSurviveRestarts, restartTests } from './demo-restart.js'
import { startDemo } from './demo-server.js'

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

  it('keeps sessions, apart from those of a demo on another port', async () => {
    const first = { dataFolder: join(folder.path, 'first'), port: await freePort() }
    let server = await startDemo(first)
    const other = await startDemo({ dataFolder: join(folder.path, 'other') })
    const demo = await openDemo(browser(), server.url)
    await demo.switchTo('Grace')
    await demo.page.getByText('Nothing here yet').waitFor()
    await demo.page.goto(other.url)
    await expect.poll(() => demo.page.getByRole('radio', { name: 'Ada' }).isChecked()).toBe(true)

    expect(await server.stop('SIGKILL')).toEqual({ code: null, complaints: '' })
    server = await startDemo(first)
    await demo.page.goto(server.url)
    await expect.poll(() => demo.page.getByRole('radio', { name: 'Grace' }).isChecked()).toBe(true)
    await demo.page.context().close()
    expect(demo.complaints).toEqual([])
    for (const running of [server, other]) expect(await running.stop()).toEqual({ code: 0, complaints: '' })
  })

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
