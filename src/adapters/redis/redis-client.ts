import { hexOf } from '../../core/bytes.js'

/** The methods of an `ioredis` client, a `Redis` or a `Cluster`, that the cache uses. Structural, to fit any version. */
export interface RedisClient {
  evalsha(sha1: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>
  eval(script: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>
}

/** The result of a script: a keyword, followed by its values. */
export type ScriptResult = readonly string[]

export interface ScriptCall {
  readonly script: RedisScript
  readonly keys: readonly string[]
  readonly values: readonly string[]
}

/** A Lua script, which Redis runs atomically. */
export interface RedisScript {
  readonly text: string
  /** Returns the hexadecimal SHA-1 of the text, which names the script once Redis has seen it. */
  readonly sha1: () => Promise<string>
}

/** Hashes the text on first use, because modules can load in places without a global `crypto`, such as jest 26. */
export function redisScript(text: string): RedisScript {
  let digest: Promise<ArrayBuffer> | undefined
  return {
    text,
    sha1: async () => {
      digest ??= crypto.subtle.digest('SHA-1', new TextEncoder().encode(text))
      return hexOf(new Uint8Array(await digest))
    },
  }
}

/** Runs a script in one round trip, or in two if Redis hasn't seen it since its start. */
export async function runScript(
  redis: RedisClient,
  { script: { text, sha1 }, keys, values }: ScriptCall,
): Promise<ScriptResult> {
  const given = [keys.length, ...keys, ...values] as const
  const result = await redis.evalsha(await sha1(), ...given).catch((error: unknown) => {
    if (isUnknownScript(error)) return redis.eval(text, ...given)
    throw error
  })
  if (Array.isArray(result) && result.every((part) => typeof part === 'string')) return result
  throw new TypeError('A script of the usage cache must return an array of strings.')
}

/** Error codes, the first word of the message, are the part that Redis keeps stable. */
function isUnknownScript(error: unknown): boolean {
  return String((error as { message?: unknown } | null)?.message).startsWith('NOSCRIPT')
}
