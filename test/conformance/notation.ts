import type { Observed } from './outcome.js'
import { isAttemptId } from './attempt-ids.js'
import type { Call } from './calls.js'
import { ManualClock } from './clock.js'
import { NoResponse } from './failure.js'
import { isDate } from './is-date.js'

const UNITS = [
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
  ['ms', 1],
] as const

/** Dates further away from the start of the test are written in full. */
const FAR = 1000 * 24 * 3_600_000

const LONGEST_STRING = 60
const LONGEST_LIST = 12
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/

/**
 * Formats calls and results for failure reports: ids as `#1`, `#2` in order of appearance, dates as `T+1s` from the start
 * of the test's clock, and strings with every unusual character escaped.
 */
export class Notation {
  readonly #names = new Map<string, string>()
  readonly #plain: boolean
  #cursors = 0
  #tokens = 0

  /** `plain` writes dates in full, for values that don't come from a script. */
  constructor(plain = false) {
    this.#plain = plain
  }

  /** Writes the cursor as a number from now on. */
  nameCursor(cursor: string): void {
    if (!this.#names.has(cursor)) this.#names.set(cursor, `cursor ${++this.#cursors}`)
  }

  /** Writes the id or the claim of an event as a number from now on. */
  nameToken(token: string): void {
    if (!this.#names.has(token)) this.#names.set(token, `token ${++this.#tokens}`)
  }

  call(call: Call): string {
    return `${call.method}(${call.args.map((argument) => this.value(argument)).join(', ')})`
  }

  outcome(outcome: Observed): string {
    if ('crash' in outcome && outcome.crash instanceof NoResponse) return 'no response'
    if ('crash' in outcome) return `threw ${String(outcome.crash)}, which is not a StorageError`
    if ('error' in outcome)
      return outcome.params ? `${outcome.error} ${this.value(outcome.params)}` : outcome.error
    return this.#brief(outcome.ok)
  }

  value(value: unknown): string {
    if (typeof value === 'string')
      return this.#names.get(value) ?? (isAttemptId(value) ? this.#id(value) : quote(value))
    if (typeof value === 'bigint') return `${value}n`
    if (isDate(value)) return this.#date(value)
    if (Array.isArray(value)) return this.#list(value)
    if (typeof value === 'object' && value !== null) return this.#object(value)
    return String(value)
  }

  #list(items: readonly unknown[]): string {
    const written = items.slice(0, LONGEST_LIST).map((item) => this.value(item))
    const more = items.length - written.length
    return `[${[...written, ...(more > 0 ? [`… ${more} more`] : [])].join(', ')}]`
  }

  #id(id: string): string {
    const name = this.#names.get(id) ?? `#${this.#names.size - this.#cursors - this.#tokens + 1}`
    this.#names.set(id, name)
    return name
  }

  #date(value: Date): string {
    const distance = value.getTime() - ManualClock.START
    if (Number.isNaN(distance)) return 'an invalid Date'
    if (this.#plain || Math.abs(distance) > FAR) return value.toISOString()
    if (distance === 0) return 'T'
    const [unit, length] = UNITS.find(([, milliseconds]) => distance % milliseconds === 0)!
    return `T${distance < 0 ? '-' : '+'}${Math.abs(distance) / length}${unit}`
  }

  #object(value: object): string {
    const fields = Object.entries(value).filter(([, field]) => field !== undefined)
    if (fields.length === 0) return '{}'
    const written = fields.map(
      ([name, field]) => `${IDENTIFIER.test(name) ? name : quote(name)}: ${this.value(field)}`,
    )
    if (written.length > 20) return `{ ${written.slice(0, 20).join(', ')}, … ${written.length} fields }`
    return `{ ${written.join(', ')} }`
  }

  #brief(value: unknown): string {
    if (Array.isArray(value)) return `[${value.map((item) => this.#brief(item)).join(', ')}]`
    if (typeof value !== 'object' || value === null) return this.value(value)
    if ('status' in value && 'id' in value) return `${String(value.status)} ${this.value(value.id)}`
    if ('objects' in value) {
      return (
        this.#brief(value.objects) + ('nextCursor' in value ? ` and ${this.value(value.nextCursor)}` : '')
      )
    }
    return this.value(value)
  }
}

function quote(text: string): string {
  const short = text.length > LONGEST_STRING ? text.slice(0, LONGEST_STRING) : text
  const escaped = short
    .replace(/["\\]/g, '\\$&')
    .replace(/[^ -~]/gu, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`)
  return short === text ? `"${escaped}"` : `"${escaped}…" (${[...text].length} characters)`
}
