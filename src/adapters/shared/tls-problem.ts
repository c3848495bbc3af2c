/** Why a TLS connection to a database server could not be opened. */
export type TlsProblem =
  /** The server's certificate is from a CA that this process doesn't trust. */
  | 'untrusted'
  /** A certificate has expired or is not valid yet. */
  | 'outdated'
  /** The server's certificate is for another host name. */
  | 'other host'
  /** An alert of the other side, another protocol, or a certificate or key that can't be parsed. */
  | 'handshake'

/** By the code that Node gives to an error of TLS. */
const PROBLEMS: Readonly<Record<string, TlsProblem>> = {
  CERT_HAS_EXPIRED: 'outdated',
  CERT_NOT_YET_VALID: 'outdated',
  ERR_TLS_CERT_ALTNAME_INVALID: 'other host',
  CERT_CHAIN_TOO_LONG: 'untrusted',
  CERT_REJECTED: 'untrusted',
  CERT_REVOKED: 'untrusted',
  CERT_SIGNATURE_FAILURE: 'untrusted',
  CERT_UNTRUSTED: 'untrusted',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'untrusted',
  INVALID_CA: 'untrusted',
  INVALID_PURPOSE: 'untrusted',
  PATH_LENGTH_EXCEEDED: 'untrusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'untrusted',
  UNABLE_TO_GET_ISSUER_CERT: 'untrusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'untrusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'untrusted',
}

/** The codes of a failed handshake, which OpenSSL makes from its reasons. */
const HANDSHAKE = /^(?:EPROTO$|ERR_OSSL_|ERR_SSL_\w*(?:ALERT|VERSION|PROTOCOL|NO_))/

/** Returns what an error of Node says about TLS, or `null`. */
export function tlsProblem(error: unknown): TlsProblem | null {
  const code = String((Object(error) as { code?: unknown }).code)
  if (Object.hasOwn(PROBLEMS, code)) return PROBLEMS[code]!
  return HANDSHAKE.test(code) ? 'handshake' : null
}

/** Returns whether an error says that a file of the settings, such as a certificate, can't be read. */
export function isUnreadableFile(error: unknown): boolean {
  const { code, syscall } = Object(error) as { code?: unknown; syscall?: unknown }
  // A socket that does not exist has the same code, with another call.
  if (syscall !== 'open' && syscall !== 'read') return false
  return /^E(?:NOENT|ACCES|PERM|ISDIR|NOTDIR)$/.test(String(code))
}
