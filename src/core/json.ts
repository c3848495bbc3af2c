export type JsonValue =
  string | number | boolean | null | readonly JsonValue[] | { readonly [name: string]: JsonValue }

/** A JSON Schema (2020-12), as OpenAPI 3.1 uses it. */
export type JsonSchema = { readonly [keyword: string]: JsonValue }

const STRING = /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?/g

/**
 * Parses names with an escape, such as `"\n"`, by themselves, in place of stand-ins: `JSON.parse` of Node 24 and 26 can read them as
 * another name that it has read before (nodejs/node#63785).
 */
export function parseJson(text: string): unknown {
  // Throws for invalid text. `STRING` would search an unfinished string again from each of its quotes.
  const parsed: unknown = JSON.parse(text)
  if (!text.includes('\\')) return parsed
  const mark = textNotIn(text)
  const names: string[] = []
  const safe = text.replace(STRING, (token, string: string, colon: string | undefined) => {
    if (colon === undefined || !string.includes('\\')) return token
    names.push(JSON.parse(string) as string)
    return `"${mark}${names.length - 1}"${colon}`
  })
  if (names.length === 0) return parsed
  const value: unknown = JSON.parse(safe)
  renameMembers(value, mark, names)
  return value
}

/** Neither calls itself nor uses a reviver of `JSON.parse`, because both fail at some thousands of levels. */
function renameMembers(root: unknown, mark: string, names: readonly string[]): void {
  const unvisited = [root]
  while (unvisited.length > 0) {
    const value = unvisited.pop()
    if (typeof value !== 'object' || value === null) continue
    const members = Object.entries(value)
    const hasStandIns = !Array.isArray(value) && members.some(([name]) => name.startsWith(mark))
    for (const [name, member] of members as readonly [string, unknown][]) {
      unvisited.push(member)
      if (!hasStandIns) continue
      // Every member moves to the end, so their order stays. `__proto__` can only be defined.
      Reflect.deleteProperty(value, name)
      const original = name.startsWith(mark) ? names[Number(name.slice(mark.length))]! : name
      Object.defineProperty(value, original, {
        ...{ value: member, writable: true, enumerable: true, configurable: true },
      })
    }
  }
}

/** Returns a short text that isn't part of another. It is random, so that no text can contain all that are tried. */
function textNotIn(other: string): string {
  for (;;) {
    const candidate = `\u{e000}${Math.random()}`
    if (!other.includes(candidate)) return candidate
  }
}
