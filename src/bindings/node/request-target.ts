/**
 * A request target as path and query, always from a slash on, whatever form the client sent: the scheme and authority of
 * an absolute target are dropped, `*` stands below the root.
 *
 * Node decodes a target as Latin-1. `URL` would encode such characters as UTF-8, which are other bytes than the client's.
 */
export function originForm(target: string): string {
  const rest = target.replace(/^[a-z][a-z\d+.-]*:\/\/[^/?#\\]*/i, '')
  const path = rest.startsWith('/') ? rest : `/${rest}`
  return path.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** The path of a target in origin form, still percent-encoded. */
export function pathOf(target: string): string {
  return target.replace(/[?#].*$/s, '')
}
