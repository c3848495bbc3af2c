interface Merge {
  /** The metadata as `json`. */
  readonly before: string
  /** Names with their values, or with `null` to remove them, as `json`. */
  readonly changes: string
  /** Variables for the metadata (NULL if no name is left), the number of its names, and their bytes with those of the values. */
  readonly into: readonly [metadata: string, entries: string, bytes: string]
}

/** Sets and removes single names, like `mergeMetadata` of core/store/lifecycle/metadata.ts. As `jsonb`, names would lose their order. */
export const mergeMetadata = ({ before, changes, into }: Merge) => `
    SELECT pg_catalog.json_object_agg(m.name, m.value ORDER BY m.old_place, m.new_place), count(*),
      coalesce(sum(octet_length(m.name) + octet_length(m.value)), 0)
    INTO ${into.join(', ')}
    FROM (
      SELECT coalesce(o.name, n.name) AS name, CASE WHEN n.name IS NULL THEN o.value ELSE n.value END AS value,
        o.place AS old_place, n.place AS new_place
      FROM json_each_text(${before}) WITH ORDINALITY AS o(name, value, place)
      FULL JOIN json_each_text(${changes}) WITH ORDINALITY AS n(name, value, place) ON o.name = n.name COLLATE "C"
    ) m
    WHERE m.value IS NOT NULL;`
