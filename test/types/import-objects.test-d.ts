import { describe, expectTypeOf, it } from 'vitest'
import {
  importObjects,
  type ImportedItem,
  type ImportObjectsOptions,
  type ImportObjectsResult,
  type ImportSelection,
  type JobFailure,
  type S3ServerCore,
  type SelectImport,
} from '@svc/db'

describe('importObjects', () => {
  const s3 = null as unknown as S3ServerCore

  it('takes a function that may be async, and null or undefined for every option', () => {
    const select: SelectImport = async ({ key }) => (key === '' ? null : { scope: 'a' })
    expectTypeOf(importObjects).parameter(1).toEqualTypeOf<ImportObjectsOptions>()
    expectTypeOf<{ select: SelectImport }>().toExtend<ImportObjectsOptions>()
    const none = { bucket: null, prefix: null, after: null, concurrency: null, dryRun: null }
    const options: ImportObjectsOptions = { select, ...none, onProgress: null, signal: undefined }
    expectTypeOf(importObjects(s3, options)).resolves.toEqualTypeOf<ImportObjectsResult>()
    // @ts-expect-error `select` is required.
    void importObjects(s3, {})
    // @ts-expect-error The scope is required.
    void importObjects(s3, { select: () => ({ key: 'a' }) })
  })

  it('shows the item with its bucket, and counts the results', () => {
    expectTypeOf<ImportedItem>().toExtend<{
      readonly bucket: string
      readonly key: string
      readonly size: number
    }>()
    expectTypeOf<ImportedItem['lastModified']>().toEqualTypeOf<Date>()
    expectTypeOf<ImportSelection['scope']>().toEqualTypeOf<string>()
    expectTypeOf<ImportObjectsResult>().toEqualTypeOf<{
      readonly imported: number
      readonly known: number
      readonly differs: number
      readonly skipped: number
      readonly failed: readonly JobFailure[]
      readonly after: string | null
    }>()
  })
})
