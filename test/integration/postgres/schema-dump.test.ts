import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { postgresAdapter } from '@svc/db/postgres'
import { afterAll, afterEach, expect, it } from 'vitest'
import { describePostgres, dropSchema, freshSchema, poolOf, quoted } from './schemas.js'
import { hasRelease, releasedPostgres } from '../upgrade/released-source.js'

const DUMP = fileURLToPath(new URL('../../../docs/schema.sql', import.meta.url))

describePostgres('docs/schema.sql', (url) => {
  const pool = poolOf(url)
  const schema = freshSchema()
  afterEach(() => dropSchema(pool, schema))
  afterAll(() => pool.end())

  it('shows what migrate() creates', async () => {
    await postgresAdapter(pool, { schema }).migrate()
    await expect(await dump()).toMatchFileSnapshot(DUMP)
  })

  it.skipIf(!hasRelease())('shows what migrate() makes of a schema of version 1.5', async () => {
    const release = await releasedPostgres()
    await pool.query(release.postgresSchema({ schema }))
    await postgresAdapter(pool, { schema }).migrate()
    expect(await dump()).toBe(readFileSync(DUMP, 'utf8'))
  })

  async function dump(): Promise<string> {
    const { rows } = await pool.query<{ text: string }>(STATEMENTS, [schema])
    const text = rows.map((row) => row.text).join('\n\n')
    return (
      `-- What migrate() creates, without the bodies of the functions.\n\n${text}\n`
        .replaceAll(`${quoted(schema)}.`, '')
        .replaceAll('timestamp with time zone', 'timestamptz')
        // A hash of the name of the schema.
        .replace(/(?<=schema_v\d+_)\w+/g, 'HASH')
    )
  }
})

const COMMENT = (oid: string, catalog: string) =>
  `coalesce('-- ' || obj_description(${oid}, '${catalog}') || E'\\n', '')`

/** One statement for each object of the schema $1, with its comment: tables with their indexes, then types and functions. */
const STATEMENTS = `
  WITH here AS (SELECT oid FROM pg_namespace WHERE nspname = $1), statements AS (
    SELECT 1 AS kind, c.relname AS name, ${COMMENT('c.oid', 'pg_class')}
      || 'CREATE TABLE ' || c.relname || E' (\\n' || (
        SELECT string_agg('  ' || line, E',\\n' ORDER BY place, line COLLATE "C") FROM (
          SELECT a.attnum::int AS place, a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
            || CASE WHEN k.collname = 'C' THEN ' COLLATE "C"' ELSE '' END
            || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END
            || CASE a.attidentity WHEN 'a' THEN ' GENERATED ALWAYS AS IDENTITY' ELSE '' END
            || coalesce(' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), '') AS line
          FROM pg_attribute a
          LEFT JOIN pg_collation k ON k.oid = a.attcollation
          LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
          WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
          UNION ALL
          SELECT 1000, 'CONSTRAINT ' || o.conname || ' ' || pg_get_constraintdef(o.oid)
          FROM pg_constraint o WHERE o.conrelid = c.oid
        ) lines
      ) || E'\\n)' || coalesce(' WITH (' || array_to_string(c.reloptions, ', ') || ')', '') || ';'
      || coalesce((
        SELECT E'\\n\\n' || string_agg(${COMMENT('i.indexrelid', 'pg_class')} || pg_get_indexdef(i.indexrelid) || ';',
          E'\\n' ORDER BY x.relname)
        FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid WHERE i.indrelid = c.oid AND NOT i.indisprimary
      ), '') AS text
    FROM pg_class c WHERE c.relnamespace = (SELECT oid FROM here) AND c.relkind = 'r'
    UNION ALL
    SELECT 2, c.relname, 'CREATE TYPE ' || c.relname || E' AS (\\n' || (
        SELECT string_agg('  ' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod), E',\\n' ORDER BY a.attname COLLATE "C")
        FROM pg_attribute a WHERE a.attrelid = c.oid
      ) || E'\\n);'
    FROM pg_class c WHERE c.relnamespace = (SELECT oid FROM here) AND c.relkind = 'c'
    UNION ALL
    SELECT 3, t.typname, 'CREATE DOMAIN ' || t.typname || ' AS ' || format_type(t.typbasetype, NULL) || ';'
    FROM pg_type t WHERE t.typnamespace = (SELECT oid FROM here) AND t.typtype = 'd'
    UNION ALL
    SELECT 4, p.proname, ${COMMENT('p.oid', 'pg_proc')} || 'FUNCTION ' || p.proname || '('
      || coalesce(E'\\n  ' || replace(nullif(pg_get_function_arguments(p.oid), ''), ', ', E',\\n  ') || E'\\n', '') || ')'
      || coalesce(' RETURNS ' || pg_get_function_result(p.oid), '') || ';'
    FROM pg_proc p WHERE p.pronamespace = (SELECT oid FROM here)
  )
  SELECT s.text FROM statements s ORDER BY s.kind, s.name`
