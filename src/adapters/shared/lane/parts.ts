/** Returns the parts of a group that share no scope. */
export function partsOf<T>(group: readonly T[], scopesOf: (item: T) => readonly string[]): T[][] {
  const parts = new Set<T[]>()
  const partOf = new Map<string, T[]>()
  for (const item of group) {
    const found = scopesOf(item).flatMap((scope) => (partOf.has(scope) ? [partOf.get(scope)!] : []))
    const [part = [], ...others] = new Set(found)
    const added = [...others.flat(), item]
    for (const each of added) for (const scope of scopesOf(each)) partOf.set(scope, part)
    for (const other of others) parts.delete(other)
    part.push(...added)
    parts.add(part)
  }
  return [...parts]
}

/** Returns whether the scopes of one item include those of all others. */
export function isNested(group: readonly { readonly scopes: readonly string[] }[]): boolean {
  const all = new Set(group.flatMap(({ scopes }) => scopes))
  return group.some(({ scopes }) => new Set(scopes).size === all.size)
}
