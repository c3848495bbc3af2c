import { describe, expectTypeOf, it } from 'vitest'
import type { MetadataContext, MetadataFunction, ObjectMetadata, StorageObject, UploadRoute } from '@svc/db'

describe('the metadata of an upload route', () => {
  const routeOf = (route: UploadRoute) => route

  it('is false or a function', () => {
    routeOf({ metadata: false })
    routeOf({ metadata: () => null })
    routeOf({ metadata: (given) => given })
    routeOf({ metadata: async (given, { scope }) => ({ ...given, uploader: scope }) })
    routeOf({ metadata: null })
    routeOf({ metadata: undefined })
    // @ts-expect-error true would mean the default, which is to leave it out
    routeOf({ metadata: true })
    // @ts-expect-error a fixed record is a function that returns it
    routeOf({ metadata: { source: 'web' } })
  })

  it('comes from a function that returns strings or null', () => {
    // @ts-expect-error undefined is a forgotten return statement
    routeOf({ metadata: () => undefined })
    // @ts-expect-error values are strings
    routeOf({ metadata: () => ({ size: 3 }) })
    // @ts-expect-error values are strings
    routeOf({ metadata: async () => ({ scanned: true }) })
  })

  it('gets what the client sent, readonly, and the caller', () => {
    expectTypeOf<Parameters<MetadataFunction>>().toEqualTypeOf<
      [given: ObjectMetadata | null, context: MetadataContext]
    >()
    expectTypeOf<MetadataContext>().toEqualTypeOf<{
      readonly request: Request
      readonly scope: string
      readonly object?: StorageObject
    }>()
    routeOf({
      metadata(given) {
        // @ts-expect-error readonly
        if (given) given['more'] = 'x'
        return given
      },
    })
  })
})
