import { UsageError } from '../exit.js'

const DATABASE_PROTOCOL = /^(?:postgres(?:ql)?|mongodb(?:\+srv)?):/i

/** Returns whether the text may be a URL, even an invalid one. Names of schemas and prefixes never are. */
function mayBeURL(text: string): boolean {
  return text.includes('://') || mayHavePassword(text)
}

/** Returns whether the text has a colon and a later `@`. */
function mayHavePassword(text: string): boolean {
  const colon = text.indexOf(':')
  return colon >= 0 && text.lastIndexOf('@') > colon
}

/** Returns whether the text is a database URL, or any URL with a password. Scopes and routes may be other URLs or e-mail addresses. */
function isSecretURL(text: string): boolean {
  const [scheme, ...rest] = text.split('://')
  return DATABASE_PROTOCOL.test(text) || (scheme !== '' && mayHavePassword(rest.join('://')))
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
    if (isName && mayBeURL(value)) {
      throw new UsageError(`--${option} must be a name, not a URL.`, 'Pass the database URL with --url.')
    }
    if (isSecretURL(value)) {
      throw new UsageError('A database URL is not in its place.', 'Pass it with --url.')
    }
  }
}

/** Redacts arguments that look like a URL: a misplaced one must not put its password into a log. */
export function withoutURLs(text: string, args: readonly string[]): string {
  return args
    .filter((argument) => mayBeURL(argument))
    .flatMap((argument) => [argument, argument.slice(argument.indexOf('=') + 1)])
    .filter((secret) => secret !== '')
    .reduce((rest, argument) => rest.replaceAll(argument, '***'), text)
}
