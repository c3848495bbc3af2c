import type { RequestListener } from 'node:http'
import { describe } from 'vitest'
import { openInMemory, type Serve, type Served } from './fixture.js'
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

/** Runs the whole table for the first way in the last version, and smoke tables. */
export function describeHttpTable<Version extends { readonly name: string }>(
  versions: readonly Version[],
  ways: readonly Way<Version>[],
): void {
  const current = versions.at(-1)!
  // The handler alone has the multipart upload of megabytes, and so have the long runs.
  describe(current.name, () => describeWholeTable(servingBy(ways[0]!, current), openInMemory, [3]))
  describeSmokeTables(versions, ways)
}

/** Runs the smoke table for every way in the last version, and for the first way in the others. */
export function describeSmokeTables<Version extends { readonly name: string }>(
  versions: readonly Version[],
  ways: readonly Way<Version>[],
): void {
  describeSmoke(versions.slice(0, -1), ways.slice(0, 1))
  describeSmoke(versions.slice(-1), ways)
}

/** Runs the smoke tables that are left: for the other ways in the versions before the last. */
export function describeOtherSmokeTables<Version extends { readonly name: string }>(
  versions: readonly Version[],
  ways: readonly Way<Version>[],
): void {
  describeSmoke(versions.slice(0, -1), ways.slice(1))
}

function describeSmoke<Version extends { readonly name: string }>(
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
