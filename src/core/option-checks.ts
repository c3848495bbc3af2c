import { StorageError } from './errors.js'
import {
  checkBoolean,
  checkInteger,
  checkText,
  optional,
  shown,
  type TextField,
} from './store/validation/checks.js'

const A_DAY = 86_400

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Not `instanceof`: jsdom and polyfills have classes of their own. */
export function isSignal(value: unknown): value is AbortSignal {
  const signal = value as Partial<AbortSignal> | null | undefined
  return typeof signal?.aborted === 'boolean' && typeof signal.addEventListener === 'function'
}

/** Checks the options of one function. Each check throws a TypeError that names the function, the option and the value. */
export class OptionChecks {
  readonly #caller: string

  constructor(caller: string) {
    this.#caller = caller
  }

  error(message: string): TypeError {
    return new TypeError(`${this.#caller}: ${message}`)
  }

  /** For callers without types, who may pass no options at all. */
  options(value: object): void {
    if (!isObject(value)) throw this.error(`the options must be an object (got ${shown(value)}).`)
  }

  /** Runs a check of the store, which names the option. */
  valid<T>(check: () => T): T {
    try {
      return check()
    } catch (error) {
      throw error instanceof StorageError ? this.error(error.message) : error
    }
  }

  text(name: string, value: unknown, kind: TextField): string {
    return this.valid(() => checkText(kind, value, name))
  }

  integer<T extends number | null>(name: string, value: T, min: number, max: number): T {
    return value === null ? value : (this.valid(() => checkInteger(name, value, min, max)) as T)
  }

  /** Returns a number of seconds above 0, by default at most a day. */
  seconds(name: string, value: number | null | undefined, max = A_DAY): number | null {
    if (value === undefined || value === null) return null
    if (typeof value === 'number' && value > 0 && value <= max) return value
    throw this.error(`${name} must be a number above 0 and at most ${max} (got ${shown(value)}).`)
  }

  boolean(name: string, value: boolean | null | undefined): boolean | null {
    return optional(value, (given) => this.valid(() => checkBoolean(name, given)))
  }

  function<T>(name: string, value: T | null | undefined): T | null {
    if (value === undefined || value === null || typeof value === 'function') return value ?? null
    throw this.error(`${name} must be a function (got ${shown(value)}).`)
  }

  requiredFunction<T>(name: string, value: T): NonNullable<T> {
    const given = this.function(name, value)
    if (!given) throw this.error(`${name} must be a function (got ${shown(value)}).`)
    return given
  }

  signal(value: AbortSignal | null | undefined): AbortSignal | null {
    if (value === undefined || value === null || isSignal(value)) return value ?? null
    throw this.error(`signal must be an AbortSignal (got ${shown(value)}).`)
  }
}
