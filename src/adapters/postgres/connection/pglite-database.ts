import type { Database, PGliteDatabase, TextRow } from './database.js'

/** Adapts a PGlite database, which drops a byte order mark at the start of a value. So each row is read as one text. */
export function pgliteDatabase(database: PGliteDatabase): Database {
  return {
    async run({ text }, values) {
      const asText = `WITH result AS (${text}) SELECT ROW(result.*)::text FROM result`
      const { rows } = await database.query(asText, [...values], { rowMode: 'array' })
      return (rows as [string][]).map(([row]) => fieldsOf(row))
    },

    async script(...statements) {
      const results = await database.exec(statements.join(';\n'), { rowMode: 'array' })
      return (results.at(-1)?.rows ?? []) as TextRow[]
    },
  }
}

const FIELD = /(?:"([^"\\]*(?:(?:""|\\[^])[^"\\]*)*)"|([^,)]*))[,)]/y

/** Parses a row such as `(a,"b, c",)`. A field that is empty and not quoted is `NULL`. */
function fieldsOf(row: string): TextRow {
  const fields: (string | null)[] = []
  FIELD.lastIndex = 1
  for (let match = FIELD.exec(row); match; match = FIELD.exec(row)) {
    const [, quoted, plain] = match
    fields.push(quoted === undefined ? plain || null : quoted.replace(/""|\\[^]/g, (pair) => pair[1]!))
    if (FIELD.lastIndex === row.length) break
  }
  return fields
}
