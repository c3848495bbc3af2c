import pg from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { expectWholeLife } from '../drivers/whole-life.js'
import { describePostgres, poolOf, schemaOfEachTest } from './schemas.js'

describePostgres('values are stored exactly', (url) => {
  const pool = poolOf(url)
  let schema: string
  schemaOfEachTest(pool, (name) => (schema = name))

  const settings = ['TimeZone=Asia/Kathmandu', 'DateStyle=SQL,DMY', 'extra_float_digits=-15']
  it.each([true, false])('whatever the settings of the session (named statements: %s)', async (named) => {
    const options = settings.map((setting) => `-c ${setting}`).join(' ')
    const own = poolOf(url, { options: `${options} -c IntervalStyle=iso_8601` })
    onTestFinished(() => own.end())
    const open = (now?: () => Date) => postgresAdapter(own, { schema, now, namedStatements: named })
    await expectWholeLife(open, postgresAdapter(pool, { schema }))
  })

  it('whatever the type parsers of the application, which stay as they are', async () => {
    const { INT8, TIMESTAMPTZ, JSON: JSON_TYPE, TEXT, UUID } = pg.types.builtins
    const types = [INT8, TIMESTAMPTZ, JSON_TYPE, TEXT, UUID]
    const before = types.map((type): unknown => pg.types.getTypeParser(type))
    for (const type of types) pg.types.setTypeParser(type, (): string => 'of the application')
    try {
      await expectWholeLife((now) => postgresAdapter(pool, { schema, now }))
      const { rows } = await pool.query('SELECT 1::int8 AS eight')
      expect(rows).toEqual([{ eight: 'of the application' }])
    } finally {
      types.forEach((type, index) => pg.types.setTypeParser(type, before[index] as never))
    }
  })
})
