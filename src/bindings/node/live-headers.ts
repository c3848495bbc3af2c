import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'

type Carrier = Pick<IncomingMessage, 'headers'>
type Values = string | readonly string[] | undefined

/** Names and values in the same order. To copy the object takes several times as long. */
interface HeaderList {
  readonly names: readonly string[]
  readonly values: readonly Values[]
}

/**
 * The headers of a `Request`, kept equal to those of a message until they are fixed. Middleware may replace a header that the
 * client has sent, after other middleware has already created the `Request`.
 */
export class LiveHeaders {
  readonly #headers: Headers
  #message: Carrier | null
  /** The message's headers that `#headers` shows. */
  #shown: HeaderList

  /**
   * Fills `headers`, which must be empty, as the framework and its middleware see them. Values keep their bytes, because Node
   * and `Headers` both represent a byte as a character.
   */
  constructor(headers: Headers, message: Carrier) {
    this.#headers = headers
    this.#message = message
    this.#shown = listOf(message.headers)
    const { names, values } = this.#shown
    names.forEach((name, index) => append(headers, name, values[index]))
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
    this.current()
  }

  /** Keeps the headers as they are now. Called by the core once the scope is resolved. */
  fix(): void {
    this.current()
    this.#message = null
    this.#shown = { names: [], values: [] }
  }

  /** Touches only what the message has changed, so headers that the application has set on the `Request` remain. */
  #update(headers: IncomingHttpHeaders): void {
    if (isListOf(headers, this.#shown)) return
    const before = byLowerCase(this.#shown)
    this.#shown = listOf(headers)
    const after = byLowerCase(this.#shown)
    for (const name of new Set([...before.keys(), ...after.keys()])) {
      const values = after.get(name) ?? []
      if (!isSame(before.get(name), values)) replace(this.#headers, name, values)
    }
  }
}

function listOf(headers: IncomingHttpHeaders): HeaderList {
  const names = Object.keys(headers)
  const values = names.map((name) => {
    const value = headers[name]
    return typeof value === 'object' ? [...value] : value
  })
  return { names, values }
}

function isListOf(headers: IncomingHttpHeaders, { names, values }: HeaderList): boolean {
  const current = Object.keys(headers)
  return (
    current.length === names.length &&
    current.every((name, index) => name === names[index] && isSame(headers[name], values[index]))
  )
}

function isSame(one: Values, other: Values): boolean {
  if (typeof one !== 'object' || typeof other !== 'object') return one === other
  return one.length === other.length && one.every((value, index) => value === other[index])
}

/** Merges names that differ only in case, which middleware may have added. */
function byLowerCase(list: HeaderList): ReadonlyMap<string, readonly string[]> {
  const merged = new Map<string, readonly string[]>()
  list.names.forEach((spelling, index) => {
    const name = spelling.toLowerCase()
    const values = list.values[index]
    if (values !== undefined) merged.set(name, [...(merged.get(name) ?? []), ...[values].flat()])
  })
  return merged
}

function replace(headers: Headers, name: string, values: readonly string[]): void {
  try {
    headers.delete(name)
  } catch {
    // An invalid name, which `append` skips too.
  }
  append(headers, name, values)
}

function append(headers: Headers, name: string, values: Values): void {
  for (const value of typeof values === 'object' ? values : [values]) {
    try {
      if (value !== undefined) headers.append(name, value)
    } catch {
      // Skips invalid headers: pseudo-headers of HTTP/2, such as `:path`, and what middleware may have added.
    }
  }
}
