import type { RequestListener } from 'node:http'
import { describe } from 'vitest'
import type { Serve, Served } from './fixture.js'
import { listenForFile } from './listen-for-file.js'
import { describeSmokeTable } from './smoke-table.js'
import { describeWholeTable } from './whole-table.js'

/** A way to mount a binding in an application of a framework. */
export interface Way<Version> {
  readonly how: string
  readonly appOf: (served: Served, version: Version) => RequestListener
  /** Path in front of the base path. */
  readonly prefix: string
}

/** Runs the whole table for the first way in the last version, and the smoke table for every way in every version. */
export function describeHttpTable<Version extends { readonly name: string }>(
  versions: readonly Version[],
  ways: readonly Way<Version>[],
): void {
  const current = versions.at(-1)!
  describe(current.name, () => describeWholeTable(servingBy(ways[0]!, current)))
  describeSmokeTables(versions, ways)
}

/** Runs the smoke table for every way in every version. The whole table of other servers is a long run. */
export function describeSmokeTables<Version extends { readonly name: string }>(
  versions: readonly Version[],
  ways: readonly Way<Version>[],
): void {
  describe.each(versions)('$name', (version) => {
    describe.each(ways)('with $how', (way) => describeSmokeTable(servingBy(way, version)))
  })
}

function servingBy<Version>({ appOf, prefix }: Way<Version>, version: Version): Serve {
  return async (served) => (await listenForFile(appOf(served, version))) + prefix + served.basePath
}
