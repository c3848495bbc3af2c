import type { Database, PostgresPool, PostgresQuery, PostgresResult, TextRow } from './database.js'

/** Everything stays text here and is read by the adapter: no global parser of the application matters. */
const AS_TEXT = { getTypeParser: () => (value: string) => value }

/** A `pg` Pool or Client. `named`: statements are prepared once a connection, which a pooler in between must allow. */
export function pgDatabase(pool: PostgresPool, { named }: { readonly named: boolean }): Database {
  return {
    async run({ name, text }, values) {
      const query: PostgresQuery = { text, values: [...values], rowMode: 'array', types: AS_TEXT }
      if (named) query.name = name
      const { rows } = await pool.query(query)
      return rows as TextRow[]
    },

    async script(...statements) {
      // Without values pg sends the text as it is, and Postgres runs all of its statements in one transaction.
      const answer: PostgresResult | PostgresResult[] = await pool.query({
        text: statements.join(';\n'),
        rowMode: 'array',
        types: AS_TEXT,
      })
      const last = Array.isArray(answer) ? (answer as PostgresResult[]).at(-1) : answer
      return (last?.rows ?? []) as TextRow[]
    },
  }
}
