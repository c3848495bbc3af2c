/**
 * All versions of the library lock the same pair of numbers for a schema. Locks of keys use one large number, and
 * Postgres keeps the two kinds apart.
 */
export const MIGRATION_LOCK = `pg_advisory_xact_lock(hashtext('@svc/db migration'), hashtext({schema-literal}))`
