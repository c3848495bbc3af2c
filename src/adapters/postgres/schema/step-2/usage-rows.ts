/** Variables of {@link lockUsage}. */
export const USAGE_ROWS = `
  owner text;
  one {schema}.scope_usage;
  usage {schema}.scope_usage;`

/**
 * Locks the usage rows of two scopes, which may be the same, and reads that of `growing` into `usage`. From then on its
 * sums are final.
 *
 * Everybody who changes several usage rows locks them in the order of their scopes. A missing row is inserted in its
 * turn, because inserting it waits for other transactions that insert it.
 */
export const lockUsage = (growing: string, other: string) => `
  FOREACH owner IN ARRAY CASE WHEN ${growing} = ${other} THEN ARRAY[${growing}] ELSE ARRAY[
    least(${growing} COLLATE "C", ${other} COLLATE "C"), greatest(${growing} COLLATE "C", ${other} COLLATE "C")] END
  LOOP
    LOOP
      SELECT u.* INTO one FROM {schema}.scope_usage u WHERE u.scope = owner FOR UPDATE;
      EXIT WHEN FOUND;
      INSERT INTO {schema}.scope_usage (scope) VALUES (owner) ON CONFLICT (scope) DO NOTHING;
    END LOOP;
    IF owner = ${growing} THEN usage := one; END IF;
  END LOOP;`
