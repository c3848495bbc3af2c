import { StorageError } from '@svc/db'
import type { ScopeUsage } from '@svc/db'
import { SCRIPTS, overDriver, overStore, type Mutant } from './mutant.js'

const NO_QUOTA = { maxBytes: null, maxFiles: null }
const held = ({ bytes, reservedBytes }: ScopeUsage) => bytes + reservedBytes

export const quotaMutants: readonly Mutant[] = [
  {
    it: 'compares the whole size of an overwrite with the quota, not its growth',
    createStore: overStore((store) => ({
      async reserve(input) {
        const max = input.quota?.maxBytes
        const used = held(await store.getScopeUsage(input.scope))
        if (max != null && used + input.declaredSize > max) {
          const params = { limit: 'maxBytes', max, used, requested: input.declaredSize }
          throw new StorageError('QUOTA_EXCEEDED', { params })
        }
        return store.reserve(input)
      },
    })),
    caughtBy: ['quota: compares only the growth of an overwrite', SCRIPTS.aboutQuotas],
  },
  {
    it: 'refuses to reach the quota of bytes exactly',
    createStore: overDriver((driver) => ({
      reserve: (command) =>
        driver.reserve({
          ...command,
          quota: { ...command.quota, maxBytes: command.quota.maxBytes && command.quota.maxBytes - 1 },
        }),
    })),
    caughtBy: ['quota: may be reached exactly, and not by one byte more', SCRIPTS.aboutQuotas],
  },
  {
    it: 'lets the quota of files be passed by one',
    createStore: overDriver((driver) => ({
      reserve: (command) =>
        driver.reserve({
          ...command,
          quota: { ...command.quota, maxFiles: command.quota.maxFiles && command.quota.maxFiles + 1 },
        }),
    })),
    caughtBy: ['quota: may be reached exactly, and not by one file more', SCRIPTS.aboutQuotas],
  },
  {
    it: 'does not compare the quota again in confirm',
    createStore: overDriver((driver) => ({
      confirm: (command) => driver.confirm({ ...command, quota: NO_QUOTA }),
    })),
    caughtBy: [
      'quota: is compared again by confirm, with what grows beyond the reservation',
      SCRIPTS.aboutQuotas,
    ],
  },
  {
    it: 'ends the attempt whose confirm passes the quota',
    createStore: overDriver((driver) => ({
      async confirm(command) {
        const result = await driver.confirm(command)
        if (result.outcome === 'quota-exceeded') await driver.release({ ...command, uploadId: null })
        return result
      },
    })),
    caughtBy: [
      'quota: is compared again by confirm, with what grows beyond the reservation',
      SCRIPTS.aboutQuotas,
    ],
  },
  {
    it: 'refuses whatever a scope over its quota does',
    createStore: overStore((store) => ({
      async reserve(input) {
        const max = input.quota?.maxBytes
        const used = held(await store.getScopeUsage(input.scope))
        if (max != null && used > max) {
          throw new StorageError('QUOTA_EXCEEDED', { params: { limit: 'maxBytes', max, used, requested: 0 } })
        }
        return store.reserve(input)
      },
    })),
    caughtBy: [
      'quota: lets a scope that is over it replace a file by one that is not larger',
      SCRIPTS.aboutQuotas,
    ],
  },
  {
    it: 'takes a quota of 0 for none',
    createStore: overDriver((driver) => ({
      reserve: (command) =>
        driver.reserve({
          ...command,
          quota: { maxBytes: command.quota.maxBytes || null, maxFiles: command.quota.maxFiles || null },
        }),
    })),
    caughtBy: ['quota: of nothing lets nothing in but empty changes', SCRIPTS.aboutQuotas],
  },
  {
    it: 'names maxFiles before maxBytes',
    createStore: overDriver((driver) => ({
      async reserve(command) {
        const result = await driver.reserve(command)
        const { files, reservedFiles } = await driver.usage(command.scope)
        const [max, used] = [command.quota.maxFiles, files + reservedFiles]
        if (result.outcome !== 'quota-exceeded' || max === null || used < max) return result
        return { outcome: 'quota-exceeded', limit: 'maxFiles', max, used, requested: 1 }
      },
    })),
    caughtBy: ['quota: names maxBytes first where both are exceeded'],
  },
  {
    it: 'says in a refusal what is active as used, without what is reserved',
    createStore: overStore((store) => ({
      async reserve(input) {
        return store.reserve(input).catch(async (error: unknown) => {
          if (!(error instanceof StorageError) || error.params?.['limit'] !== 'maxBytes') throw error
          const { bytes } = await store.getScopeUsage(input.scope)
          throw new StorageError('QUOTA_EXCEEDED', { params: { ...error.params, used: bytes } })
        })
      },
    })),
    caughtBy: ['quota: compares bytes held and reserved together', SCRIPTS.aboutQuotas],
  },
  {
    it: 'compares only what is active with the quota',
    createStore: overStore((store) => ({
      async reserve(input) {
        const { reservedBytes } = await store.getScopeUsage(input.scope)
        const maxBytes = input.quota?.maxBytes
        return store.reserve({
          ...input,
          quota: { ...input.quota, maxBytes: maxBytes == null ? null : maxBytes + reservedBytes },
        })
      },
    })),
    caughtBy: ['quota: compares bytes held and reserved together', SCRIPTS.aboutQuotas],
  },
]

export const usageMutants: readonly Mutant[] = [
  {
    it: 'counts the whole size of a pending overwrite as reserved',
    createStore: overStore((store) => ({
      async getScopeUsage(scope) {
        const usage = await store.getScopeUsage(scope)
        const { objects } = await store.listByScope({ scope, status: 'pending', limit: 1000 })
        return { ...usage, reservedBytes: objects.reduce((sum, { declaredSize }) => sum + declaredSize!, 0) }
      },
    })),
    caughtBy: ['getScopeUsage: reserves only the growth of an overwrite, and no file', SCRIPTS.ofAnything],
  },
  {
    it: 'counts a pending overwrite as another file',
    createStore: overStore((store) => ({
      async getScopeUsage(scope) {
        const usage = await store.getScopeUsage(scope)
        return { ...usage, reservedFiles: await store.countByScope(scope, 'pending') }
      },
    })),
    caughtBy: ['getScopeUsage: reserves only the growth of an overwrite, and no file', SCRIPTS.ofAnything],
  },
  {
    it: 'does not count lapsed reservations',
    createStore: overStore((store) => ({
      async getScopeUsage(scope) {
        const usage = await store.getScopeUsage(scope)
        const lapsed = await store.listExpired({ scope })
        return { ...usage, reservedFiles: usage.reservedFiles - lapsed.length }
      },
    })),
    caughtBy: ['getScopeUsage: counts a lapsed reservation until it is dropped', SCRIPTS.ofAnything],
  },
  {
    it: 'counts what is declared as the size of the object',
    createStore: overStore((store) => ({
      async confirm(input) {
        const pending = await store.findPending(input)
        const { size } = input
        const row = await store.confirm({ ...input, size: pending?.declaredSize ?? size })
        return { ...row, size }
      },
    })),
    caughtBy: [
      'getScopeUsage: counts the bytes and files of active objects, over all buckets',
      SCRIPTS.ofAnything,
    ],
  },
  {
    it: 'knows sizes only to 32 bits',
    createStore: overStore((store) => ({
      async getScopeUsage(scope) {
        const usage = await store.getScopeUsage(scope)
        return { ...usage, bytes: usage.bytes >>> 0, reservedBytes: usage.reservedBytes >>> 0 }
      },
    })),
    caughtBy: ['records: keeps sizes exactly, from 0 to the largest safe integer', SCRIPTS.ofAnything],
  },
  {
    it: 'adds sizes up in floating point and lets them pass what is exact',
    createStore: overDriver((driver) => ({
      async reserve(command) {
        const result = await driver.reserve(command)
        if (result.outcome !== 'sum-too-large') return result
        return driver.reserve({ ...command, declaredSize: 0 })
      },
    })),
    caughtBy: [
      'getScopeUsage: refuses a reserve that would carry the sum beyond the largest safe integer, and changes nothing',
      SCRIPTS.ofAnything,
    ],
  },
]
