import { EVENTS_SWITCH, FIND_SWITCH } from '../sql/events.js'
import type { SchemaName } from '../sql/statement.js'
import { relation } from '../sql/tables.js'
import { changeText } from './additions.js'
import { MIGRATION_LOCK } from './version.js'

/** The triggers that record events: what they follow, and which rows are active. Nothing else calls their function. */
const TRIGGERS = [
  { name: 'record_insert', event: 'INSERT', active: ['new'] },
  { name: EVENTS_SWITCH, event: 'UPDATE', active: ['old', 'new'] },
  { name: 'record_delete', event: 'DELETE', active: ['old'] },
] as const
type Trigger = (typeof TRIGGERS)[number]

/** The triggers as `catalog.ts` describes them. */
export const TRIGGER_CATALOG: ReadonlyMap<string, string> = new Map(
  TRIGGERS.map(({ name, event, active }) => {
    const conditions = active.map((row) => `(${row}.status = 'active'::text)`).join(' OR ')
    const condition = active.length > 1 ? `(${conditions})` : conditions
    return [`trigger ${name}`, `AFTER ${event} WHEN (${condition}) record_event_v1`]
  }),
)

export interface SwitchOptions {
  /** Turns events off only if this is still the number of the trigger. `null`: whatever its number is. */
  readonly found: string | null
  readonly isPatient: boolean
}

/** Builds one statement that turns events on or off, unless they are: see {@link changeText}. */
export function switchEventsText(
  events: boolean,
  schema: SchemaName,
  { found, isPatient }: SwitchOptions,
): string {
  return changeText(schema, {
    before: `PERFORM ${MIGRATION_LOCK};`,
    isNeeded: events
      ? `NOT EXISTS (${FIND_SWITCH})`
      : `EXISTS (${FIND_SWITCH}${found === null ? '' : ` AND t.oid = ${Number(found)}`})`,
    change: TRIGGERS.map(events ? createTrigger : dropTrigger).join('\n    '),
    isPatient,
  })
}

/** Replaces triggers that were copied from another schema, whose function would record the events there. */
export const REPLACE_FOREIGN_TRIGGERS = `  IF EXISTS (
    SELECT FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid
    JOIN (${relation('objects')}) ON c.oid = t.tgrelid
    WHERE p.pronamespace <> n.oid AND t.tgname IN (${TRIGGERS.map(({ name }) => `'${name}'`).join(', ')})
  ) THEN
    ${[...TRIGGERS.map(dropTrigger), ...TRIGGERS.map(createTrigger)].join('\n    ')}
  END IF;
`

function createTrigger({ name, event, active }: Trigger): string {
  const condition = active.map((row) => `${row}.status = 'active'`).join(' OR ')
  return `CREATE TRIGGER ${name} AFTER ${event} ON {schema}.objects FOR EACH ROW WHEN (${condition})
      EXECUTE FUNCTION {schema}.record_event_v1();`
}

function dropTrigger({ name }: Trigger): string {
  return `DROP TRIGGER IF EXISTS ${name} ON {schema}.objects;`
}
