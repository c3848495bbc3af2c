/** The options that every storage has which serves its own URLs. */
export interface SelfServingOptions {
  /**
   * Absolute URL of the place where the server's `{basePath}/_storage` is reached from outside, where a proxy hides it.
   * Default: that of the request which asks for a URL.
   */
  readonly baseURL?: string | null | undefined
  /** The clock by which URLs expire. Default: the system's. */
  readonly now?: (() => Date) | null | undefined
}

/** The same, checked and filled in. */
export interface CheckedOptions {
  /** Without a slash at its end. */
  readonly baseURL: string | null
  readonly now: () => Date
}

/** @throws TypeError which names the function that was called with these options, and the wrong one among them. */
export function checkSelfServingOptions(caller: string, options: SelfServingOptions): CheckedOptions {
  const now: unknown = options.now ?? (() => new Date())
  if (typeof now !== 'function')
    throw new TypeError(`${caller}: now must be a function, not a ${typeof now}.`)
  return { baseURL: checkBaseURL(caller, options.baseURL), now: now as () => Date }
}

function checkBaseURL(caller: string, baseURL: unknown): string | null {
  if (baseURL === undefined || baseURL === null) return null
  const url = typeof baseURL === 'string' && URL.canParse(baseURL) ? new URL(baseURL) : null
  if (!url || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '') {
    throw new TypeError(
      `${caller}: baseURL must be an absolute http(s) URL without query, not ${JSON.stringify(baseURL)}.`,
    )
  }
  return url.href.replace(/\/+$/, '')
}
