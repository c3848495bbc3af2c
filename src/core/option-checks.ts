import { StorageError } from './errors.js'
import { suggestion, unknownName, type KnownNames } from './known-names.js'
import { isSignal } from './on-abort.js'
import type { StorageObjectStore } from './store/contract.js'
import {
  checkBoolean,
  checkInteger,
  checkQuota,
  checkText,
  optional,
  QUOTA_NAMES,
  shown,
  type QuotaLimits,
  type TextField,
} from './store/validation/checks.js'

const A_DAY = 86_400

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
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

  /** Returns the options, all of which are known. */
  options<Options extends object>(value: Options, known: KnownNames): Options {
    if (!isObject(value) || Array.isArray(value)) {
      throw this.error(`the options must be an object (got ${shown(value)}).`)
    }
    this.#refuseUnknown('', value, known)
    return value
  }

  /** Like {@link options}, for a function that needs none. */
  optionalOptions<Options extends object>(
    value: Options | null | undefined,
    known: KnownNames,
  ): Partial<Options> {
    return value === undefined || value === null ? {} : this.options(value, known)
  }

  /** Returns an option that is an object of further options, all of which are known. */
  nested<Options extends object>(name: string, value: Options, known: KnownNames): Options {
    if (!isObject(value) || Array.isArray(value)) {
      throw this.error(`${name} must be an object (got ${shown(value)}).`)
    }
    this.#refuseUnknown(`${name}.`, value, known)
    return value
  }

  #refuseUnknown(path: string, value: object, known: KnownNames): void {
    const name = unknownName(value, known)
    if (name === null) return
    throw this.error(`unknown option ${shown(path + name)}. ${suggestion(name, known, path)}`)
  }

  /** Returns both limits of a quota. `undefined` and `null` set none. */
  quota(name: string, value: unknown): QuotaLimits {
    if (isObject(value)) this.#refuseUnknown(`${name}.`, value, QUOTA_NAMES)
    return this.valid(() => checkQuota(name, value))
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

  /** For texts of any length. */
  string(name: string, value: unknown): void {
    if (value === undefined || value === null || typeof value === 'string') return
    throw this.error(`${name} must be a string (got ${shown(value)}).`)
  }

  integer<T extends number | null>(name: string, value: T, min: number, max: number): T {
    return value === null ? value : (this.valid(() => checkInteger(name, value, min, max)) as T)
  }

  /** Returns a number of seconds above 0, or 0 where that is allowed, by default at most a day. */
  seconds(
    name: string,
    value: number | null | undefined,
    { max = A_DAY, orZero = false }: { readonly max?: number; readonly orZero?: boolean } = {},
  ): number | null {
    if (value === undefined || value === null) return null
    if (typeof value === 'number' && (orZero ? value >= 0 : value > 0) && value <= max) return value
    const least = orZero ? 'of at least 0' : 'above 0'
    throw this.error(`${name} must be a number ${least} and at most ${max} (got ${shown(value)}).`)
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

  /** For the option `client`. */
  store(value: Partial<Pick<StorageObjectStore, 'reserve'>> | null | undefined): void {
    if (typeof value?.reserve === 'function') return
    throw this.error(`client must be a store, such as postgresAdapter(pool) (got ${shown(value)}).`)
  }

  /** Returns one of the allowed texts, or `null` if none was given. */
  oneOf<const Allowed extends string>(
    name: string,
    value: Allowed | null | undefined,
    allowed: readonly Allowed[],
  ): Allowed | null {
    if (value === undefined || value === null || allowed.includes(value)) return value ?? null
    const texts = allowed.map((each) => `"${each}"`).join(' or ')
    throw this.error(`${name} must be ${texts} (got ${shown(value)}).`)
  }

  array<Item>(name: string, value: readonly Item[] | null | undefined): readonly Item[] | null {
    if (value === undefined || value === null || Array.isArray(value)) return value ?? null
    throw this.error(`${name} must be an array (got ${shown(value)}).`)
  }

  signal(value: AbortSignal | null | undefined): AbortSignal | null {
    if (value === undefined || value === null || isSignal(value)) return value ?? null
    throw this.error(`signal must be an AbortSignal (got ${shown(value)}).`)
  }
}
