import { UsageError } from '../exit.js'

/** May be a URL, even an invalid one. Names of schemas and prefixes never are. */
const LIKE_URL = /:\/\/|:.*@/s

/** A database URL, or any URL with a password. A scope or route may contain other URLs and e-mail addresses. */
const WITH_LOGIN = /^(?:(?:postgres(?:ql)?|mongodb(?:\+srv)?):|[a-z][a-z0-9+.-]*:\/\/.*:.*@)/is

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
    if (isName && LIKE_URL.test(value)) {
      throw new UsageError(`--${option} must be a name, not a URL.`, 'Pass the database URL with --url.')
    }
    if (WITH_LOGIN.test(value)) {
      throw new UsageError('A database URL is not in its place.', 'Pass it with --url.')
    }
  }
}

/** Redacts arguments that look like a URL: a misplaced one must not put its password into a log. */
export function withoutURLs(text: string, args: readonly string[]): string {
  return args
    .filter((argument) => LIKE_URL.test(argument))
    .flatMap((argument) => [argument, argument.slice(argument.indexOf('=') + 1)])
    .filter((secret) => secret !== '')
    .reduce((rest, argument) => rest.replaceAll(argument, '***'), text)
}
