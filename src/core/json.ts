const STRING = /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?/g

/**
 * Parses JSON as `JSON.parse` does. Node 24 and 26 can read a member name with an escape, such as `"\n"`, as another name that
 * they have read before (nodejs/node#63785). So such names are parsed by themselves, and put in place of stand-ins without escapes.
 *
 * @throws SyntaxError unless the text is valid JSON.
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
  const nameOf = (name: string) => (name.startsWith(mark) ? names[Number(name.slice(mark.length))]! : name)
  return JSON.parse(safe, (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).map(([name, member]) => [nameOf(name), member as unknown]))
      : value,
  )
}

/** Returns a short text that isn't part of another. It is random, so that no text can contain all that are tried. */
function textNotIn(other: string): string {
  for (;;) {
    const candidate = `\u{e000}${Math.random()}`
    if (!other.includes(candidate)) return candidate
  }
}
