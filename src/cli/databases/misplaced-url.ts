import { UsageError } from '../exit.js'

const DATABASE_URL = /^(?:postgres(?:ql)?|mongodb(?:\+srv)?):/i

/** Returns whether the text may be a URL, even an invalid one. Names of schemas and prefixes never are. */
function looksLikeURL(text: string): boolean {
  const colon = text.indexOf(':')
  return text.includes('://') || (colon >= 0 && text.includes('@', colon))
}

/** Recognizes a database URL, or any URL with a password. A scope or route may contain other URLs and e-mail addresses. */
function hasLogin(text: string): boolean {
  if (DATABASE_URL.test(text)) return true
  const authority = text.indexOf('://')
  if (authority < 1) return false
  const password = text.indexOf(':', authority + 3)
  return password >= 0 && text.includes('@', password)
}

/**
 * Refuses a URL in any place but `--url`. Elsewhere it would be a schema, a prefix or a scope, which output shows, with the
 * password.
 *
 * @throws UsageError that doesn't repeat the URL.
 */
export function refuseMisplacedURL(args: readonly string[]): void {
  for (const [index, argument] of args.entries()) {
    const [, attachedTo, attached] = /^--([a-z-]+)=(.*)$/s.exec(argument) ?? []
    const option = attachedTo ?? /^--([a-z-]+)$/.exec(args[index - 1] ?? '')?.[1]
    const value = attached ?? argument
    if (option === 'url') continue
    const isName = option === 'schema' || option === 'prefix'
    if (isName && looksLikeURL(value)) {
      throw new UsageError(`--${option} must be a name, not a URL.`, 'Pass the database URL with --url.')
    }
    if (hasLogin(value)) {
      throw new UsageError('A database URL is not in its place.', 'Pass it with --url.')
    }
  }
}

/** Redacts arguments that look like a URL: a misplaced one must not put its password into a log. */
export function withoutURLs(text: string, args: readonly string[]): string {
  return args
    .filter(looksLikeURL)
    .flatMap((argument) => [argument, argument.slice(argument.indexOf('=') + 1)])
    .filter((secret) => secret !== '')
    .reduce((rest, argument) => rest.replaceAll(argument, '***'), text)
}
