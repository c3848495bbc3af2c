import { mongoAdapter } from '@svc/db/mongo'
import { afterAll, it } from 'vitest'
import { clientOf, describeMongo, freshDatabase } from '../mongo/databases.js'
import { expectTwoImportsToAgree } from './two-imports.js'

describeMongo('importObjects on MongoDB', (url) => {
  const client = clientOf(url)
  const db = freshDatabase(client)
  afterAll(async () => {
    await db.dropDatabase()
    await client.close()
  })

  it('records every file once, if two run at once and one is stopped', async () => {
    const [one, other] = [mongoAdapter(db), mongoAdapter(db)]
    await one.migrate()
    await expectTwoImportsToAgree([one, other])
  })
})
