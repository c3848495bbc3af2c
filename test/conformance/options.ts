import { namesOf } from '../../src/core/known-names.js'
import { OptionChecks } from '../../src/core/option-checks.js'
import type { StorageObjectStore } from '../../src/core/store/contract.js'

/** The functions of a test runner that the suite uses. Vitest, Jest, Mocha and `node:test` all have them. */
export interface TestRunner {
  describe(name: string, body: () => void): unknown
  /** `timeLimit` is in milliseconds. Runners that take no time limit here ignore it. */
  it(name: string, body: () => Promise<void>, timeLimit?: number): unknown
}

export interface ConformanceOptions {
  /** Name of the adapter, for the test titles. */
  readonly name: string
  /**
   * Creates a store that is ready for use, has its own empty database or namespace, and takes the time only from `now`.
   * `events` says whether it records events.
   * Called for every case and for every run of a property.
   */
  readonly createStore: (context: {
    readonly now: () => Date
    readonly events: boolean
  }) => StorageObjectStore | Promise<StorageObjectStore>
  /**
   * Creates a store on a place that `migrate()` never ran on, without the option `events` of the adapter. Adapters without a schema
   * leave it out: the suite then doesn't check what happens before `migrate()`.
   */
  readonly createEmpty?:
    | ((context: { readonly now: () => Date }) => StorageObjectStore | Promise<StorageObjectStore>)
    | null
    | undefined
  /**
   * Opens a second store on the place of a store that `createStore` returned, over a connection of its own if possible, as
   * another process would: without the option `events` of the adapter, unless `events` is given. Concurrent scripts then use both
   * stores.
   */
  readonly reopen?:
    | ((
        store: StorageObjectStore,
        context: { readonly now: () => Date; readonly events?: boolean | undefined },
      ) => StorageObjectStore | Promise<StorageObjectStore>)
    | null
    | undefined
  /** Changes the recorded usage of a scope directly in the database, to anything else that a usage can be. */
  readonly tamper?: ((store: StorageObjectStore, scope: string) => unknown) | null | undefined
  /**
   * Checks what the outcomes of the driver report: `isRepeat` and `replaced` of a confirm, `hasNext` of a settled event, and `scopes`, if
   * it has them. Needs stores that `createStore()` returned, each with a separate driver. Default `false`.
   */
  readonly driver?: boolean | null | undefined
  /** Called with every store after its case or run, whether that passed or failed; with those of `reopen` first. */
  readonly close?: ((store: StorageObjectStore) => unknown) | null | undefined
  /** Your test runner. Default: the globals `describe` and `it`. */
  readonly test?: TestRunner | null | undefined
  /** Runs of each property, 1 or more. Default: 100, or fewer if a property would take more than 3 seconds. */
  readonly numRuns?: number | null | undefined
  /** Repeats the scripts of an earlier run. Default: the environment variable `CONFORMANCE_SEED`, else a random seed. */
  readonly seed?: number | null | undefined
  /**
   * Repeats one script of the seed. Failure reports print it. Default: the environment variable `CONFORMANCE_PATH`. A number
   * alone starts every property at that run.
   */
  readonly path?: string | null | undefined
  /** Whether to search for a shorter script that fails. Default `true`. */
  readonly shrink?: boolean | null | undefined
  /** Longest pause in milliseconds before each concurrent call, for stores over a network. Default 0. */
  readonly delays?: number | null | undefined
}

/** The options of the properties, with defaults applied. */
export interface PropertySettings {
  readonly numRuns: number
  /** Milliseconds after which a property begins no more runs. */
  readonly timeLimit: number
  readonly seed: number
  /** The run to start at. */
  readonly path: string | undefined
  /** The one script to repeat. */
  readonly replay: Replay | null
  readonly shrink: boolean
  readonly delays: number
  /** The number of the property, for its failure report. */
  readonly script: number
}

/** One script, as a failure report names it. */
export interface Replay {
  /** The number of the property. */
  readonly script: number
  /** The run, and the steps to the shorter script. */
  readonly path: string
  /** Which commands had run, for those steps. */
  readonly commands: string
}

const REPLAY = /^(\d+)\/(\d+(?::\d+)*)(?:\/([A-Za-z0-9+/:]+))?$/

const DEFAULT_RUNS = 100

/** Keeps the default run over a network short. */
const DEFAULT_TIME_LIMIT = 3000

const OPTIONS = namesOf<ConformanceOptions>({
  ...{ name: true, createStore: true, createEmpty: true, reopen: true, tamper: true, driver: true },
  ...{ close: true, test: true, numRuns: true, seed: true, path: true, shrink: true, delays: true },
})
const checks = new OptionChecks('storeConformance')

/** @throws TypeError for an invalid option. */
export function propertySettings(options: ConformanceOptions): PropertySettings {
  checks.options(options, OPTIONS)
  checks.requiredFunction('createStore', options.createStore)
  for (const name of ['createEmpty', 'reopen', 'tamper', 'close'] as const)
    checks.function(name, options[name])
  checks.boolean('driver', options.driver)
  const path = options.path ?? environment('CONFORMANCE_PATH')
  return {
    numRuns: checks.integer('numRuns', options.numRuns ?? DEFAULT_RUNS, 1, Number.MAX_SAFE_INTEGER),
    timeLimit: options.numRuns == null ? DEFAULT_TIME_LIMIT : Infinity,
    seed: options.seed ?? seedOfEnvironment() ?? Math.floor(Math.random() * 2 ** 31),
    ...pathOf(path),
    shrink: checks.boolean('shrink', options.shrink) ?? true,
    delays: checks.integer('delays', options.delays ?? 0, 0, Number.MAX_SAFE_INTEGER),
    script: 0,
  }
}

/** Returns the run to start at, or the script to repeat. */
function pathOf(path: string | undefined): Pick<PropertySettings, 'path' | 'replay'> {
  if (path === undefined || /^\d+$/.test(path)) return { path, replay: null }
  const [, script, run, commands = ''] = REPLAY.exec(path) ?? []
  if (script === undefined || run === undefined)
    throw checks.error(`path must be one that a failure report printed (got "${path}").`)
  return { path: undefined, replay: { script: Number(script), path: run, commands } }
}

function environment(name: string): string | undefined {
  const text = typeof process === 'undefined' ? undefined : process.env[name]
  return text === '' ? undefined : text
}

function seedOfEnvironment(): number | undefined {
  const text = environment('CONFORMANCE_SEED')
  if (text === undefined) return undefined
  const seed = Number(text)
  if (!Number.isInteger(seed)) throw new TypeError(`CONFORMANCE_SEED must be an integer (got "${text}").`)
  return seed
}

/** Returns the test functions that the runner has made global. `entry` is the function of the suite that needs them. */
export function globalRunner(entry: string): TestRunner {
  const { describe, it } = globalThis as Partial<TestRunner>
  if (typeof describe === 'function' && typeof it === 'function') return { describe, it }
  throw new TypeError(
    `No global describe() and it() found. Pass those of your test runner: ${entry}({ …, test: { describe, it } }).`,
  )
}
