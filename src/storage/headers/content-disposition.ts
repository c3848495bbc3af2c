/** Characters that RFC 5987 doesn't take as they are, beyond those that `encodeURIComponent` encodes. */
const ALSO_ENCODED = /['()*]/g

/**
 * The header by which a browser saves a file under this name: for old browsers in ASCII (RFC 6266), for all others as it
 * is (RFC 5987). Nothing in a name can end the header or begin another one.
 */
export function attachmentNamed(filename: string): string {
  const ascii = filename.replace(/[^ -~]|["%\\]/gu, '_')
  const encoded = encodeURIComponent(filename).replace(
    ALSO_ENCODED,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`
}
