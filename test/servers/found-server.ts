/** A real server that tests may use, or why there is none. */
export type FoundServer =
  { readonly url: string; readonly from: string } | { readonly url: null; readonly reason: string }

export interface RunningServer {
  readonly url: string
  /** Where it came from, for the reader of the test's output. */
  readonly from: string
  stop(): Promise<void>
}

/** How a kind of server is had, in the order in which it is tried. */
export interface ServerKind {
  /** As `REQUIRE_SERVERS` names it. */
  readonly name: string
  /** Environment variable with the URL of a server that is there already. */
  readonly variable: string
  /** How to get one, in a sentence. */
  readonly howToGet: string
  /** Each resolves to a server of its own, or to `null` where it has nothing to start. */
  readonly ways: readonly (() => Promise<RunningServer | null>)[]
}

/**
 * The one rule of where a test server comes from: a URL in the environment; a binary on this machine, started on a port
 * and in a folder of its own; an npm package that carries one; otherwise none, which is said aloud, and is an error
 * where `REQUIRE_SERVERS` (names with commas, or `all`) names it.
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
  if (isRequired(kind.name)) throw new Error(`REQUIRE_SERVERS wants it, but there is ${reason}`)
  return { reason }
}

/** Whether a missing server is an error. */
export function isRequired(name: string): boolean {
  const required = (process.env['REQUIRE_SERVERS'] ?? '').split(',').map((entry) => entry.trim())
  return required.includes(name) || required.includes('all')
}
