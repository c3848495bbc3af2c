import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'

type Carrier = Pick<IncomingMessage, 'headers'>
type Values = string | readonly string[] | undefined

/** Names and values in the same order. To copy the object takes several times as long. */
type HeaderList = ReturnType<typeof listOf>

/** The headers of a `Request`, equal to those of its message until they are fixed: middleware may replace one later. */
export class LiveHeaders {
  readonly #headers: Headers
  #message: Carrier | null
  /** The message's headers that `#headers` shows. */
  #shown: HeaderList

  /** Fills `headers`, which must be empty. Node and `Headers` both represent a byte as a character, so values keep their bytes. */
  constructor(headers: Headers, message: Carrier) {
    this.#headers = headers
    this.#message = message
    this.#shown = listOf(message.headers)
    headersOf(this.#shown, headers)
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
    const before = headersOf(this.#shown)
    this.#shown = listOf(headers)
    const after = headersOf(this.#shown)
    for (const name of new Set([...before.keys(), ...after.keys()])) {
      if (before.get(name) === after.get(name)) continue
      this.#headers.delete(name)
      for (const [one, value] of after) if (one === name) this.#headers.append(name, value)
    }
  }
}

function listOf(headers: IncomingHttpHeaders) {
  const names = Object.keys(headers)
  const values = names.map((name): Values => {
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

/** Adds the headers of a list. Merges names that differ only in case, which middleware may have added. */
function headersOf({ names, values }: HeaderList, headers = new Headers()): Headers {
  names.forEach((name, index) => {
    const all = values[index]
    for (const value of typeof all === 'object' ? all : [all]) {
      try {
        if (value !== undefined) headers.append(name, value)
      } catch {
        // Skips invalid headers: pseudo-headers of HTTP/2, such as `:path`, and what middleware may have added.
      }
    }
  })
  return headers
}
