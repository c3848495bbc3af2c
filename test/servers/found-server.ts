/** A real server for tests, or the reason why there is none. */
export type FoundServer =
  { readonly url: string; readonly from: string } | { readonly url: null; readonly reason: string }

export interface RunningServer {
  readonly url: string
  /** Where the server came from, for the test output. */
  readonly from: string
  stop(): Promise<void>
}

/** A kind of server, and the ways to get one. */
export interface ServerKind {
  /** The name in `REQUIRE_SERVERS`. */
  readonly name: string
  /** The environment variable that holds the URL of a running server. */
  readonly variable: string
  /** Instructions for installing one, as part of a sentence. */
  readonly howToGet: string
  /** Ways to start a server, in order of preference. Each resolves to `null` if it finds nothing to start. */
  readonly ways: readonly (() => Promise<RunningServer | null>)[]
}

/**
 * Finds or starts a server: the URL in the environment, else an installed program, else one from an npm package.
 * Otherwise returns the reason why there is none. Throws instead if `REQUIRE_SERVERS` (comma-separated names, or
 * `all`) names it.
 */
export async function findServer(kind: ServerKind): Promise<RunningServer | { readonly reason: string }> {
  const url = process.env[kind.variable]
  if (url) return { url, from: kind.variable, stop: async () => {} }
  const failures: string[] = []
  for (const way of kind.ways) {
    try {
      const server = await way()
      if (server) return server
    } catch (error) {
      failures.push(error instanceof Error ? error.message : String(error))
    }
  }
  const tried = failures.length > 0 ? ` Tried: ${failures.join('; ')}` : ''
  const reason = `no ${kind.name}: ${kind.howToGet}, or set ${kind.variable}.${tried}`
  if (isRequired(kind.name)) throw new Error(`REQUIRE_SERVERS names ${kind.name}, but there is ${reason}`)
  return { reason }
}

/** Returns whether a missing server is an error. */
export function isRequired(name: string): boolean {
  const required = (process.env['REQUIRE_SERVERS'] ?? '').split(',').map((entry) => entry.trim())
  return required.includes(name) || required.includes('all')
}
