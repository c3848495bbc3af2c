const STRING = /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?/g

/**
 * Parses JSON as `JSON.parse` does. Node 24 and 26 can read a member name with an escape, such as `"\n"`, as another name that
 * they have read before (nodejs/node#63785). So such names are parsed by themselves, and put in place of stand-ins without escapes.
 *
 * @throws SyntaxError unless the text is valid JSON.
 */
export function parseJson(text: string): unknown {
  if (!text.includes('\\')) return JSON.parse(text)
  let mark = '\u{e000}'
  while (text.includes(mark)) mark += '\u{e000}'
  const names: string[] = []
  const safe = text.replace(STRING, (token, string: string, colon: string | undefined) => {
    if (colon === undefined || !string.includes('\\')) return token
    names.push(JSON.parse(string) as string)
    return `"${mark}${names.length - 1}"${colon}`
  })
  if (names.length === 0) return JSON.parse(text)
  const nameOf = (name: string) => (name.startsWith(mark) ? names[Number(name.slice(mark.length))]! : name)
  return JSON.parse(safe, (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).map(([name, member]) => [nameOf(name), member as unknown]))
      : value,
  )
}
