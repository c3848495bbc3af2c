/** The options of every storage that serves its own URLs. */
export interface SelfServingOptions {
  /**
   * Absolute public URL of the server's `{basePath}/_storage`, for a server behind a proxy that changes its URL. Default:
   * derived from the request that asks for a URL.
   */
  readonly baseURL?: string | null | undefined
  /** Returns the current time; URLs expire by it. Default: the system clock. */
  readonly now?: (() => Date) | null | undefined
}

/** The validated options with their defaults. */
export interface CheckedOptions {
  /** Without a trailing slash. */
  readonly baseURL: string | null
  readonly now: () => Date
}

/** Validates the options. @throws TypeError that names the function `caller` and the invalid option. */
export function checkSelfServingOptions(caller: string, options: SelfServingOptions): CheckedOptions {
  const now: unknown = options.now ?? (() => new Date())
  if (typeof now !== 'function') {
    throw new TypeError(`${caller}: now must be a function (got ${typeof now}).`)
  }
  return { baseURL: checkBaseURL(caller, options.baseURL), now: now as () => Date }
}

function checkBaseURL(caller: string, baseURL: unknown): string | null {
  if (baseURL === undefined || baseURL === null) return null
  const url = typeof baseURL === 'string' && URL.canParse(baseURL) ? new URL(baseURL) : null
  if (!url || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '') {
    throw new TypeError(
      `${caller}: baseURL must be an absolute http(s) URL without query or fragment (got ${JSON.stringify(baseURL)}).`,
    )
  }
  let end = url.href.length
  while (url.href[end - 1] === '/') end--
  return url.href.slice(0, end)
}
