import { WrongCall } from './wrong-call.js'

/** Where a database is, and how to say so without its password. */
export interface DatabaseURL {
  /** As it was given, for the driver alone. */
  readonly text: string
  /** Such as `postgres:`. */
  readonly protocol: string
  /** Without password and parameters. */
  readonly shown: string
  /** `text` without what a driver might repeat of its secrets. */
  readonly conceal: (text: string) => string
}

// Hosts may be several, which the URLs of the web don't know, so that their parser is none for these.
const PARTS =
  /^([a-z][a-z0-9+.-]*:)\/\/(?:([^:@/?#\s]*)(?::([^:@/?#\s]*))?@)?([^@/?#\s]*)(\/[^@?#\s]*)?(\?[^@#\s]*)?$/i
const SECRET_PARAMETER = /(?:pass|secret|token|key)/i

/**
 * @throws WrongCall for what is no URL of a database. It never says which text that was: a password with a `/` or a `#`
 * in it makes every guess where it ends a wrong one.
 */
export function readDatabaseURL(text: string, source: string): DatabaseURL {
  const match = PARTS.exec(text)
  if (!match) {
    throw new WrongCall(
      `${source} is not a URL such as postgres://user:password@host:5432/database.`,
      'In user and password, percent-encode what has a meaning in URLs: @ is %40, : is %3A, / is %2F, # is %23, ? is %3F.',
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
    conceal: (said) => concealed(said.replaceAll(text, '***'), secrets),
  }
}

/** `text` with `***` for each of these secrets. */
export function concealed(text: string, secrets: readonly string[]): string {
  const patterns = secrets
    .filter((secret) => secret !== '')
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
