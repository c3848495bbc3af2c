import { postgresAdapter, postgresSchema } from '@svc/db/postgres'
import { afterAll, it } from 'vitest'
import { SCHEMA } from '../../../src/adapters/postgres/sql/schema.js'
import { changesOf, switchingBy, upgradeTests } from '../upgrade/describe-upgrade.js'
import { describeWithRelease } from '../upgrade/describe-with-release.js'
import { expectEvents } from '../upgrade/recorded-events.js'
import { expectSound, finishLoads, newKeys, startLoads, untilCalls } from '../upgrade/scenario.js'
import { describeOwnDatabase, dropSchema, freshSchema, poolOf } from './schemas.js'

describeWithRelease('a Postgres database of release 1.5.5', () => {
  describeOwnDatabase('with processes of 1.5.5 that go on writing', (url) => {
    const pool = poolOf(url)
    let schema: string
    afterAll(() => pool.end())

    const database = {
      version: SCHEMA.version,
      create() {
        schema = freshSchema()
        return { kind: 'postgres', url, schema } as const
      },
      drop: () => dropSchema(pool, schema),
      open: (options?: { readonly events?: boolean }) => postgresAdapter(pool, { schema, ...options }),
      recordsOldProcesses: true,
    }
    upgradeTests(database, (upgrade) => {
      it('is upgraded by postgresSchema() in one transaction of another tool, with events', async () => {
        const { old, recent } = upgrade()
        const keys = newKeys(4)
        const loads = startLoads(old, keys)
        await untilCalls(loads)
        const switching = await switchingBy(() =>
          pool.query(`BEGIN; ${postgresSchema({ schema, events: true })}; COMMIT`),
        )
        await untilCalls(loads)
        const all = [...loads, ...startLoads(recent, keys.slice(2))]
        await untilCalls(all)
        const reports = await finishLoads(all)
        await expectSound([recent[0], old[0]])
        await expectEvents(database.open(), changesOf(reports), switching)
      })
    })
  })
})
