import { inSchema, type SchemaName } from './schema-name.js'
import { MIGRATION_LOCK } from './migration-text.js'

/** The trigger whose existence means that events are on. */
const SWITCH = 'record_update'

/**
 * The triggers that record events, with conditions that keep reservations, releases and purges from calling the
 * function.
 */
const TRIGGERS: Readonly<Record<string, string>> = {
  record_insert: `AFTER INSERT ON {schema}.objects FOR EACH ROW WHEN (NEW.status = 'active')`,
  [SWITCH]: `AFTER UPDATE ON {schema}.objects FOR EACH ROW WHEN (OLD.status = 'active' OR NEW.status = 'active')`,
  record_delete: `AFTER DELETE ON {schema}.objects FOR EACH ROW WHEN (OLD.status = 'active')`,
}

/** Selects the number of the trigger that {@link TRIGGERS} has created, or no row if events are off. */
export const FIND_SWITCH = `
    SELECT t.oid FROM pg_catalog.pg_trigger t
    JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = {schema-literal} AND c.relname = 'objects' AND t.tgname = '${SWITCH}'`

export interface SwitchOptions {
  /** Turns events off only if this is still the number of the trigger. Default: whatever its number is. */
  readonly found?: string
  /** Gives up after this time without the lock of the table, behind which all writers wait. Default: never. */
  readonly milliseconds?: number
}

/**
 * Builds one statement that turns events on or off, unless they are. It waits for the writers of the table, so every
 * later change is recorded, or none.
 */
export function switchEventsText(
  events: boolean,
  schema: SchemaName,
  { found, milliseconds }: SwitchOptions = {},
): string {
  const isNeeded = events
    ? `NOT EXISTS (${FIND_SWITCH})`
    : `EXISTS (${FIND_SWITCH}${found === undefined ? '' : ` AND t.oid = ${Number(found)}`})`
  const limit = milliseconds === undefined ? '' : `PERFORM set_config('lock_timeout', '${milliseconds}ms', true);\n    `
  return inSchema(
    `DO $events$
DECLARE
  previous text := current_setting('lock_timeout');
BEGIN
  PERFORM ${MIGRATION_LOCK};
  IF ${isNeeded} THEN
    ${limit}${Object.entries(TRIGGERS)
      .map(([name, trigger]) => (events ? createTrigger(name, trigger) : dropTrigger(name)))
      .join('\n    ')}
    PERFORM set_config('lock_timeout', previous, true);
  END IF;
END
$events$`,
    schema,
  )
}

function createTrigger(name: string, trigger: string): string {
  return `CREATE TRIGGER ${name} ${trigger} EXECUTE FUNCTION {schema}.record_event_v1();`
}

function dropTrigger(name: string): string {
  return `DROP TRIGGER ${name} ON {schema}.objects;`
}
