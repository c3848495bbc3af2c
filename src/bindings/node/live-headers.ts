import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'

type Carrier = Pick<IncomingMessage, 'headers'>

/**
 * The headers of a `Request`, kept equal to those of a message until they are fixed. Middleware may replace a header that the
 * client has sent, after other middleware has already created the `Request`.
 */
export class LiveHeaders {
  readonly #headers: Headers
  #message: Carrier | null
  /** The message's headers that `#headers` shows, as text. */
  #shown: ReadonlyMap<string, string | undefined>

  /** `headers` must have been created from the message. */
  constructor(headers: Headers, message: Carrier) {
    this.#headers = headers
    this.#message = message
    this.#shown = textsOf(message.headers)
  }

  /** Returns the headers, always the same object, as the message has them now. */
  current(): Headers {
    if (this.#message) this.#update(this.#message.headers)
    return this.#headers
  }

  /** Follows another message from now on, because middleware may wrap the message. Has no effect on fixed headers. */
  follow(message: Carrier): void {
    if (!this.#message) return
    this.#message = message
    this.#update(message.headers)
  }

  /** Keeps the headers as they are now. Called by the core once the scope is resolved. */
  fix(): void {
    this.current()
    this.#message = null
    this.#shown = new Map()
  }

  /** Touches only what the message has changed, so headers that the application has set on the `Request` remain. */
  #update(headers: IncomingHttpHeaders): void {
    if (shows(this.#shown, headers)) return
    const before = byLowerCase(this.#shown)
    this.#shown = textsOf(headers)
    const after = byLowerCase(this.#shown)
    for (const name of new Set([...before.keys(), ...after.keys()])) {
      if (before.get(name) !== after.get(name)) replace(this.#headers, name, after.get(name))
    }
  }
}

/**
 * Converts headers as the framework and its middleware see them. Values keep their bytes, because Node and `Headers` both
 * represent a byte as a character.
 */
export function webHeaders(headers: IncomingHttpHeaders): Headers {
  const result = new Headers()
  for (const [name, values] of Object.entries(headers)) {
    for (const value of [values ?? []].flat()) append(result, name, value)
  }
  return result
}

/** Separates the values of a list. Header values can't contain it. */
const SEPARATOR = '\n'

function textOf(values: string | readonly string[] | undefined): string | undefined {
  return typeof values === 'object' ? values.join(SEPARATOR) : values
}

function textsOf(headers: IncomingHttpHeaders): ReadonlyMap<string, string | undefined> {
  return new Map(Object.entries(headers).map(([name, values]) => [name, textOf(values)]))
}

function shows(shown: ReadonlyMap<string, string | undefined>, headers: IncomingHttpHeaders): boolean {
  const names = Object.keys(headers)
  return (
    names.length === shown.size &&
    names.every((name) => shown.has(name) && shown.get(name) === textOf(headers[name]))
  )
}

/** Merges names that differ only in case, which middleware may have added. */
function byLowerCase(texts: ReadonlyMap<string, string | undefined>): ReadonlyMap<string, string> {
  const merged = new Map<string, string>()
  for (const [spelling, text] of texts) {
    if (text === undefined) continue
    const name = spelling.toLowerCase()
    const known = merged.get(name)
    merged.set(name, known === undefined ? text : known + SEPARATOR + text)
  }
  return merged
}

function replace(headers: Headers, name: string, text: string | undefined): void {
  try {
    headers.delete(name)
  } catch {
    // An invalid name, which `append` skips too.
    return
  }
  for (const value of text?.split(SEPARATOR) ?? []) append(headers, name, value)
}

function append(headers: Headers, name: string, value: string): void {
  try {
    headers.append(name, value)
  } catch {
    // Skips invalid headers: pseudo-headers of HTTP/2, such as `:path`, and what middleware may have added.
  }
}
