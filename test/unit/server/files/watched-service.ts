import type { ObjectStorage } from '@svc/db'
import { expect } from 'vitest'
import { BUCKET, startService, type ServiceOptions } from '../service.js'

export const OWNER = 'user:1'

/** A service whose storage remembers every key that is written. */
export function watchedService({ storage: wrap, ...options }: ServiceOptions = {}) {
  const keys = new Set<string>()
  let memory: ObjectStorage | undefined
  const service = startService({
    ...options,
    storage(inMemory) {
      memory = inMemory
      const wrapped = wrap?.(inMemory) ?? inMemory
      return {
        ...wrapped,
        write(input) {
          keys.add(input.key)
          return wrapped.write!(input)
        },
        multipart: {
          ...wrapped.multipart!,
          create(input) {
            keys.add(input.key)
            return wrapped.multipart!.create(input)
          },
        },
      }
    },
  })
  return {
    ...service,
    files: service.s3.files,
    /** The storage keys of all writes. */
    keys,
    /** Expects no row, no reservation, no bytes and no parts of the owner. */
    expectNothing: async (): Promise<void> => {
      expect((await service.objects.listByScope({ scope: OWNER })).objects).toEqual([])
      expect(await service.objects.getScopeUsage(OWNER)).toEqual({
        bytes: 0,
        files: 0,
        reservedBytes: 0,
        reservedFiles: 0,
      })
      for (const key of keys) {
        expect(await memory!.head({ bucket: BUCKET, key })).toBeNull()
        expect(await memory!.multipart!.list({ bucket: BUCKET, key })).toEqual([])
      }
    },
  }
}

/** Returns what a call rejects with. */
export async function rejection(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => {
      throw new Error('The call was expected to reject.')
    },
    (error: unknown) => error,
  )
}
