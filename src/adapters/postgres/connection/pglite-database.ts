import type { Database, PGliteDatabase, TextRow } from './database.js'

/**
 * Postgres within this process, with one connection. It prepares no statements by name.
 *
 * PGlite drops a byte order mark at the start of a value, although it is part of the string. So each row comes as one
 * text, which begins with a parenthesis.
 */
export function pgliteDatabase(database: PGliteDatabase): Database {
  return {
    async run({ text }, values) {
      const whole = `WITH answer AS (${text}) SELECT ROW(answer.*)::text FROM answer`
      const { rows } = await database.query(whole, [...values], { rowMode: 'array' })
      return (rows as [string][]).map(([row]) => fieldsOf(row))
    },

    async script(...statements) {
      const answers = await database.exec(statements.join(';\n'), { rowMode: 'array' })
      return (answers.at(-1)?.rows ?? []) as TextRow[]
    },
  }
}

const FIELD = /(?:"((?:[^"\\]+|""|\\[^])*)"|([^,)]*))[,)]/y

/** The values of a row that Postgres wrote as one text: `(a,"b, c",)`; what is empty and not quoted is `NULL`. */
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
