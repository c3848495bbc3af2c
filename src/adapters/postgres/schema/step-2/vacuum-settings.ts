/**
 * Lets autovacuum start when 5 % of the objects have changed, unless the operator has set another share. The default is 20 %.
 *
 * Each confirmed upload leaves an entry in the indexes of pending rows, and lists of expired reservations start at these
 * entries. A share instead of a number keeps the cost of vacuums in proportion to the uploads, because each vacuum reads
 * all indexes of the table. The statement waits for a running vacuum, but no writer waits for it.
 */
export const VACUUM_SETTINGS = `
DO $vacuum$
BEGIN
  IF NOT EXISTS (
    SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    CROSS JOIN LATERAL pg_catalog.unnest(c.reloptions) AS given(setting)
    WHERE n.nspname = {schema-literal} AND c.relname = 'objects' AND given.setting LIKE 'autovacuum_vacuum_scale_factor=%'
  ) THEN
    ALTER TABLE {schema}.objects SET (autovacuum_vacuum_scale_factor = 0.05);
  END IF;
END
$vacuum$;
`
