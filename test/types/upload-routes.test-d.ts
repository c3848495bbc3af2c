import { describe, expectTypeOf, it } from 'vitest'
import type {
  GuardContext,
  MaxFileSizeFunction,
  MetadataContext,
  MetadataFunction,
  ObjectMetadata,
  StorageObject,
  UploadRoute,
} from '@svc/db'

const routeOf = (route: UploadRoute) => route

describe('the metadata of an upload route', () => {
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

describe('the maxFileSize of an upload route', () => {
  it('is a number, or a function of the owner that need not get a request', () => {
    routeOf({ maxFileSize: 5 })
    routeOf({ maxFileSize: null })
    routeOf({ maxFileSize: () => null })
    routeOf({ maxFileSize: async (scope, request) => (scope === request?.url ? null : 5) })
    expectTypeOf<MaxFileSizeFunction>().parameters.toEqualTypeOf<
      [scope: string, request?: Request | undefined]
    >()
    // @ts-expect-error files.put asks without a request
    routeOf({ maxFileSize: (_scope, request) => request.url.length })
    // @ts-expect-error undefined is a forgotten return statement
    routeOf({ maxFileSize: () => undefined })
    // @ts-expect-error a size is a number
    routeOf({ maxFileSize: () => '5' })
  })
})

describe('http of an upload route', () => {
  it('is a boolean', () => {
    for (const http of [true, false, null, undefined]) routeOf({ http })
    // @ts-expect-error a text would be true
    routeOf({ http: 'no' })
  })
})

describe('the context of a guard', () => {
  it('has what is known of an upload', () => {
    type Known = Pick<GuardContext, 'multipart' | 'filename' | 'contentType' | 'metadata' | 'replaces'>
    expectTypeOf<Known>().toEqualTypeOf<{
      readonly multipart?: boolean
      readonly filename?: string
      readonly contentType?: string
      readonly metadata?: ObjectMetadata | null
      readonly replaces?: StorageObject | null
    }>()
  })
})
