import { postgresAdapter } from '@svc/db/postgres'
import { importSource } from '../own-source.mjs'

const { releasedPostgres } = await importSource('test/integration/upgrade/released-source.ts')
const { postgresSchema } = await releasedPostgres()

/** The version that a statement needs, which no schema of 1.5.5 has. */
const REQUIRED_VERSION = /^WITH needed AS \(.*?\) /
const CALL = /(reserve|confirm)_v2\(/
/** The arguments that came later, by the number of their parameters. */
const LATER = { reserve: /, (\$16::bigint), (\$17::bigint)/, confirm: /, (\$9::boolean)/ }

/** Creates the schema of 1.5.5: what its `migrate()` creates in an empty database. Needs a clone with history. */
export async function createSchemaOfVersion15(pool, schema) {
  await pool.query(postgresSchema({ schema }))
}

/**
 * Creates a store whose `reserve` and `confirm` call the functions of 1.5.5, which take all parameters but the last ones that came later. Everything
 * outside the database is equal on both sides.
 */
export function adapterOfVersion15(pool, schema) {
  return postgresAdapter(rewritingPool(pool, textOfVersion15), { schema })
}

/** Creates a store of this version whose statements pass through as much code as those of {@link adapterOfVersion15}. */
export function comparedAdapter(pool, schema) {
  return postgresAdapter(
    rewritingPool(pool, (text) => text),
    { schema },
  )
}

function textOfVersion15(text) {
  const [, call] = CALL.exec(text) ?? []
  if (!REQUIRED_VERSION.test(text) || call === undefined) throw new Error(`Not a call of 1.5.5: ${text}`)
  const [given, ...later] = LATER[call].exec(text)
  // A connection that receives a value for a parameter needs its type.
  const unused = later.map((parameter) => `num_nonnulls(${parameter}) >= 0`).join(' AND ')
  return `${text.replace(REQUIRED_VERSION, '').replace(CALL, '$1_v1(').replace(given, '')} WHERE ${unused}`
}

/** Wraps a pool and replaces the text of each statement. */
function rewritingPool(pool, rewritten) {
  const texts = new Map()
  return {
    connect: () => pool.connect(),
    query(query) {
      let text = texts.get(query.text)
      if (text === undefined) texts.set(query.text, (text = rewritten(query.text)))
      // A connection takes each name for one text only.
      const name = text === query.text ? query.name : `${query.name}_1_5`
      return pool.query({ ...query, name, text })
    },
  }
}
