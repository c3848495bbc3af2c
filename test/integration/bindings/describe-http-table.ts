import type { RequestListener } from 'node:http'
import { describe } from 'vitest'
import type { Serve, Served } from '../http-table/fixture.js'
import { listenForFile } from '../http-table/listen-for-file.js'
import { describeMultipartLife } from '../http-table/multipart-life.js'
import { describeObjectLife } from '../http-table/object-life.js'
import { describeWholeTable } from '../http-table/whole-table.js'

/** A way to mount the binding in an application. */
export interface Way<Version> {
  readonly how: string
  readonly appOf: (served: Served, version: Version) => RequestListener
  /** Path in front of the base path. */
  readonly prefix: string
}

export interface Ways<Version> {
  /** Mounts without body parsers in front. */
  readonly beforeParsers: readonly Way<Version>[]
  /** Mounts behind body parsers of the framework. */
  readonly afterParsers: readonly Way<Version>[]
}

/** Runs the HTTP tests for every way to mount the binding, in all versions of a framework. */
export function describeHttpTable<Version extends { readonly name: string }>(
  versions: readonly Version[],
  { beforeParsers, afterParsers }: Ways<Version>,
): void {
  describe.each(versions)('$name', (version) => {
    describe.each(beforeParsers)('with $how', (way) => {
      describeWholeTable(servingBy(way, version))
    })

    describe.each(afterParsers)('after $how', (way) => {
      describeObjectLife(servingBy(way, version))
      describeMultipartLife(servingBy(way, version))
    })
  })
}

function servingBy<Version>({ appOf, prefix }: Way<Version>, version: Version): Serve {
  return async (served) => (await listenForFile(appOf(served, version))) + prefix + served.basePath
}
