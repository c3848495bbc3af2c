/**
 * What the cache needs of an `ioredis` client, be it a `Redis` or a `Cluster`. Structural, so that an application's
 * version of `ioredis` and its types are its own business.
 */
export interface RedisClient {
  evalsha(sha1: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>
  eval(script: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>
}

/** What a script of the cache answers: a word, and what belongs to it. */
export type ScriptAnswer = readonly string[]

/** A program that Redis runs in one step. */
export interface RedisScript {
  readonly text: string
  /** SHA-1 of the text in hexadecimal, by which Redis knows a script that it has run before. */
  readonly sha1: Promise<string>
}

export function redisScript(text: string): RedisScript {
  return { text, sha1: sha1Of(text) }
}

async function sha1Of(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-1', new TextEncoder().encode(text))
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** One round trip; two where this Redis hasn't seen the script since it started. */
export async function runScript(
  redis: RedisClient,
  { text, sha1 }: RedisScript,
  keys: readonly string[],
  values: readonly string[],
): Promise<ScriptAnswer> {
  const known = await sha1
  let answer: unknown
  try {
    answer = await redis.evalsha(known, keys.length, ...keys, ...values)
  } catch (error) {
    if (!isUnknownScript(error)) throw error
    answer = await redis.eval(text, keys.length, ...keys, ...values)
  }
  if (Array.isArray(answer) && answer.every((part) => typeof part === 'string')) return answer
  throw new TypeError('Redis answered a script of the usage cache with something else than texts.')
}

/** The code at the beginning of an error is what Redis promises to keep. */
function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT')
}
