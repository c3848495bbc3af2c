import { UsageError } from '../exit.js'

/** A database URL, with the means to print it without its password. */
export interface DatabaseURL {
  /** The URL as given. Only for the driver. */
  readonly text: string
  /** Such as `postgres:`. */
  readonly protocol: string
  /** Without password and parameters. */
  readonly shown: string
  /** Replaces the URL and its secrets in a text, such as a driver's error message, by `***`. */
  readonly redact: (text: string) => string
}

// Not parsed by `URL`, which rejects a list of hosts.
const PARTS =
  /^([a-z][a-z0-9+.-]*:)\/\/(?:([^:@/?#\s]*)(?::([^:@/?#\s]*))?@)?([^@/?#\s]*)(\/[^@?#\s]*)?(\?[^@#\s]*)?$/i
const SECRET_PARAMETER = /(?:pass|secret|token|key)/i

/** Parses a database URL. @throws UsageError without the text, because it is unclear where a malformed password ends. */
export function readDatabaseURL(text: string, source: string): DatabaseURL {
  // A path of a file, which has neither a host nor a password.
  if (/^sqlite:/i.test(text)) {
    return { text, protocol: 'sqlite:', shown: text, redact: (message) => message }
  }
  const match = PARTS.exec(text)
  if (!match) {
    throw new UsageError(
      `${source} must be a URL such as postgres://user:password@host:5432/database.`,
      'Percent-encode special characters in user and password: @ is %40, : is %3A, / is %2F, # is %23, ? is %3F.',
    )
  }
  const [, scheme = '', user = '', password = '', hosts = '', path = '', query = ''] = match
  const protocol = scheme.toLowerCase()
  const login = user === '' && password === '' ? '' : `${user}${password === '' ? '' : ':***'}@`
  const secrets = [password, ...secretParameters(query)].flatMap((secret) => [secret, decoded(secret)])
  return {
    text,
    protocol,
    shown: `${protocol}//${login}${hosts}${path}`,
    redact: (message) => redacted(message.replaceAll(text, '***'), secrets),
  }
}

/** Replaces each of the secrets of three letters or more in `text` by `***`. */
export function redacted(text: string, secrets: readonly string[]): string {
  const patterns = secrets
    // A shorter one is a part of words, whose gaps would tell it.
    .filter((secret) => secret.length > 2)
    .sort((a, b) => b.length - a.length)
    .map((secret) => secret.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&'))
  return patterns.length === 0 ? text : text.replace(new RegExp(patterns.join('|'), 'g'), '***')
}

function secretParameters(query: string): string[] {
  return [...new URLSearchParams(query)]
    .filter(([name]) => SECRET_PARAMETER.test(name))
    .map(([, value]) => value)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const DATABASE_PROTOCOL = /^(?:jdbc:)?(?:postgres(?:ql)?|mongodb(?:\+srv)?):/i

/** Returns whether the text may be a URL, even an invalid one. Names of schemas and prefixes never are. */
function mayBeURL(text: string): boolean {
  return text.includes('://') || mayHavePassword(text)
}

/** Returns whether the text has a colon and a later `@`. */
function mayHavePassword(text: string): boolean {
  const colon = text.indexOf(':')
  return colon >= 0 && text.lastIndexOf('@') > colon
}

/** A parameter of a connection string of libpq, or of a URL. */
const PASSWORD_PARAMETER = /\bpassword\s*=/i

/** Returns whether the text is a database URL, or has a password in it. Scopes and routes may be other URLs or e-mail addresses. */
function isSecretURL(text: string): boolean {
  const [scheme, ...rest] = text.split('://')
  return (
    DATABASE_PROTOCOL.test(text) ||
    PASSWORD_PARAMETER.test(text) ||
    (scheme !== '' && mayHavePassword(rest.join('://')))
  )
}

/** Refuses a URL anywhere but in `--url`, because output would show it. @throws UsageError that doesn't repeat the URL. */
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
