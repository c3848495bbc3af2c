import type { StorageObjectStore } from '../../src/core/store/contract.js'

/** The part of a test runner that the suite needs: that of Vitest, Jest, Mocha and `node:test` alike. */
export interface TestRunner {
  describe(name: string, body: () => void): unknown
  /** Runners that take no time limit as their third argument ignore it. */
  it(name: string, body: () => Promise<void>, timeLimit?: number): unknown
}

export interface ConformanceOptions {
  /** The adapter's, for the titles. */
  readonly name: string
  /**
   * Makes a store that is ready for use, over an empty place of its own, with `now` as its only clock. Called for every
   * test and for every run of a property.
   */
  readonly createStore: (context: {
    readonly now: () => Date
  }) => StorageObjectStore | Promise<StorageObjectStore>
  /** Called with every store when its test or run is over, however that ended. */
  readonly close?: ((store: StorageObjectStore) => unknown) | undefined
  /** The caller's test runner. Default: the globals `describe` and `it`. */
  readonly test?: TestRunner | undefined
  /** Runs of each property. Default 100. */
  readonly numRuns?: number | undefined
  /** Makes the properties choose the same scripts again. Default: the environment's `CONFORMANCE_SEED`, else a new one. */
  readonly seed?: number | undefined
  /** Begins at that run of the seed, as a failure report says it. */
  readonly path?: string | undefined
  /** Whether a failing script is made as short as can be. Default `true`. */
  readonly shrink?: boolean | undefined
  /** Longest pause in milliseconds before each of the calls that run at once, for stores over a network. Default 0. */
  readonly delays?: number | undefined
}

/** What a property needs to know of the options. */
export interface PropertySettings {
  readonly numRuns: number
  readonly seed: number
  readonly path: string | undefined
  readonly shrink: boolean
  readonly delays: number
}

/** @throws TypeError for an option that makes no sense. */
export function propertySettings(options: ConformanceOptions): PropertySettings {
  const { createStore, numRuns = 100, seed, path, shrink = true, delays = 0 } = options
  if (typeof createStore !== 'function')
    throw new TypeError('createStore must be a function that makes a store.')
  if (!Number.isInteger(numRuns) || numRuns < 1) throw new TypeError('numRuns must be an integer from 1.')
  if (!Number.isInteger(delays) || delays < 0)
    throw new TypeError('delays must be an integer of milliseconds.')
  return {
    numRuns,
    seed: seed ?? seedOfEnvironment() ?? Math.floor(Math.random() * 2 ** 31),
    path,
    shrink,
    delays,
  }
}

function seedOfEnvironment(): number | undefined {
  const text = typeof process === 'undefined' ? undefined : process.env['CONFORMANCE_SEED']
  if (text === undefined || text === '') return undefined
  const seed = Number(text)
  if (!Number.isInteger(seed)) throw new TypeError(`CONFORMANCE_SEED must be an integer, not "${text}".`)
  return seed
}
