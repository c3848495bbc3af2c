/** The names of an object's fields. Made by {@link namesOf}, so that none of a type is missing. */
export type KnownNames = ReadonlySet<string>

/** Returns the names of a type's fields. The compiler demands each of them, so a new field can't be forgotten. */
export function namesOf<Shape extends object>(
  names: Readonly<Record<keyof Shape & string, true>>,
): KnownNames {
  return new Set(Object.keys(names))
}

/** Returns the first field that isn't known, or `null`. A field counts if it is the object's own and has a value. */
export function unknownName(value: object, known: KnownNames): string | null {
  // Not `Object.keys`, which makes an array for each call of the store.
  for (const name in value) {
    if (known.has(name) || !Object.hasOwn(value, name)) continue
    const given = (value as Readonly<Record<string, unknown>>)[name]
    if (given !== undefined && given !== null) return name
  }
  return null
}

/** Returns the known name that was probably meant: it differs by a typo or two, or in case. Otherwise `null`. */
export function nearestName(name: string, known: Iterable<string>): string | null {
  let nearest: string | null = null
  let least = Infinity
  for (const candidate of known) {
    const most = candidate.length < 5 ? 1 : 2
    // Also keeps long names from taking long.
    if (Math.abs(candidate.length - name.length) > most) continue
    const typos = typosBetween(name.toLowerCase(), candidate.toLowerCase())
    if (typos > most || typos >= least) continue
    nearest = candidate
    least = typos
  }
  return nearest
}

/** Counts the characters to add, drop, change or swap with their neighbour: the optimal string alignment distance. */
function typosBetween(one: string, other: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: other.length + 1 }, (_, column) => column)
  for (let row = 1; row <= one.length; row++) {
    const current = [row]
    for (let column = 1; column <= other.length; column++) {
      const isSame = one[row - 1] === other[column - 1]
      const isSwapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]
      current[column] = Math.min(
        last[column]! + 1,
        current[column - 1]! + 1,
        last[column - 1]! + (isSame ? 0 : 1),
        isSwapped ? beforeLast[column - 2]! + 1 : Infinity,
      )
    }
    beforeLast = last
    last = current
  }
  return last[other.length]!
}

/** Says which name was probably meant, or which ones are allowed. `path` comes before the name that was given. */
export function suggestion(name: string, allowed: Iterable<string>, path = ''): string {
  const nearest = nearestName(name, allowed)
  if (nearest !== null) return `Did you mean "${path}${nearest}"?`
  const names = [...allowed]
  return names.length === 1 ? `Only ${names[0]} is allowed.` : `Allowed are ${names.join(', ')}.`
}
