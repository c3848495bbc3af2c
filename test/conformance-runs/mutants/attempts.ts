import { StorageError } from '@svc/db'
import { SCRIPTS, overChanges, overDriver, overStore, type Mutant } from './mutant.js'

const NO_QUOTA = { maxBytes: null, maxFiles: null }

export const reserveMutants: readonly Mutant[] = [
  {
    it: 'makes a new attempt of a repeated reserve',
    createStore: overDriver((driver) => ({
      async reserve(command) {
        const pending = await driver.findPending({ ...command, uploadId: null })
        if (pending?.scope === command.scope) await driver.release({ ...command, uploadId: null })
        return driver.reserve(command)
      },
    })),
    caughtBy: [
      'reserve: returns the pending row as it is when the same scope repeats its id',
      SCRIPTS.ofAnything,
    ],
  },
  {
    it: 'refuses a repeated reserve whose quota is used up',
    createStore: overDriver((driver) => ({
      async reserve(command) {
        const pending = await driver.findPending({ ...command, uploadId: null })
        if (pending?.scope !== command.scope) return driver.reserve(command)
        const anew = await driver.reserve({
          ...command,
          key: `${command.key}!`,
          id: `${command.id.slice(0, -1)}f`,
        })
        await driver.release({ ...command, key: `${command.key}!`, id: null, scope: null, uploadId: null })
        return anew.outcome === 'quota-exceeded' ? anew : driver.reserve(command)
      },
    })),
    caughtBy: ['reserve: returns the pending row for a repeat before every check but that of the input'],
  },
  {
    it: 'lets any scope have a key that is only pending',
    createStore: overDriver((driver) => ({
      async reserve(command) {
        const pending = await driver.findPending({ ...command, id: null, uploadId: null })
        const active = await driver.findActive(command)
        if (pending && !active && pending.scope !== command.scope) {
          await driver.release({ ...command, id: null, scope: null, uploadId: null })
        }
        return driver.reserve(command)
      },
    })),
    caughtBy: ['reserve: refuses a key that is live in another scope', SCRIPTS.ofAnything],
  },
  {
    it: 'keeps a key for a scope whose reservation has lapsed',
    createStore: overDriver((driver) => ({
      async reserve(command) {
        const row = await driver.find(command)
        const foreign = row !== null && row.status !== 'deleted' && row.scope !== command.scope
        return foreign ? { outcome: 'key-conflict' } : driver.reserve(command)
      },
    })),
    caughtBy: [
      'reserve: takes over a key where another scope has only a lapsed reservation, which it drops',
      SCRIPTS.aboutLapsing,
    ],
  },
  {
    it: 'keeps a key for a scope that has history there',
    createStore: overDriver((driver) => ({
      async reserve(command) {
        const row = await driver.find(command)
        return row && row.scope !== command.scope && row.status === 'deleted'
          ? { outcome: 'key-conflict' }
          : driver.reserve(command)
      },
    })),
    caughtBy: ['history: does not hold the key: any scope may reserve it again', SCRIPTS.ofAnything],
  },
  {
    it: "drops another scope's lapsed reservation though the reserve is refused",
    createStore: overDriver((driver) => ({
      async reserve(command) {
        const { now, bucket, key } = command
        const lapsed = await driver.listExpired({ scope: null, before: now, limit: 1000, after: null })
        const foreign = lapsed.find(
          (row) => row.bucket === bucket && row.key === key && row.scope !== command.scope,
        )
        if (foreign && !(await driver.findActive(command))) {
          await driver.release({ ...foreign, uploadId: null, now })
        }
        return driver.reserve(command)
      },
    })),
    caughtBy: [
      "reserve: leaves another scope's lapsed reservation where the reserve is refused",
      SCRIPTS.aboutLapsing,
    ],
  },
  {
    it: 'takes the storage key of the active row again',
    createStore: overDriver((driver) => ({
      async reserve(command) {
        const result = await driver.reserve(command)
        if (result.outcome !== 'reused' || result.field !== 'storageKey') return result
        return driver.reserve({ ...command, storageKey: null })
      },
    })),
    caughtBy: [
      'reserve: refuses the storage key of the active row and of the attempt that it would displace',
      SCRIPTS.ofAnything,
    ],
  },
  {
    it: 'overwrites where it may not',
    createStore: overDriver((driver) => ({
      reserve: (command) => driver.reserve({ ...command, overwrite: true }),
    })),
    caughtBy: ['reserve: refuses an active key where overwrite is false', SCRIPTS.ofAnything],
  },
  {
    it: 'does not overwrite by default',
    createStore: overStore((store) => ({
      reserve: (input) => store.reserve({ ...input, overwrite: input.overwrite ?? false }),
    })),
    caughtBy: ['reserve: overwrites by default', SCRIPTS.ofAnything],
  },
  {
    it: 'compares the quota before it looks whose the key is',
    createStore: overDriver((driver) => ({
      async reserve(command) {
        const { bytes, reservedBytes } = await driver.usage(command.scope)
        const used = bytes + reservedBytes
        const max = command.quota.maxBytes
        const result = await driver.reserve(command)
        return result.outcome === 'key-conflict' && max !== null && used + command.declaredSize > max
          ? { outcome: 'quota-exceeded', limit: 'maxBytes', max, used, requested: command.declaredSize }
          : result
      },
    })),
    caughtBy: ['reserve: refuses for the first reason in the order of the contract', SCRIPTS.ofAnything],
  },
  {
    it: 'lets an earlier attempt live beside the new one, so that either can be confirmed',
    createStore: overDriver((driver) => {
      const displaced = new Map<string, string>()
      return {
        async reserve(command) {
          const pending = await driver.findPending({ ...command, id: null, uploadId: null })
          const result = await driver.reserve(command)
          if (pending && result.outcome === 'reserved') displaced.set(pending.id, result.row.id)
          return result
        },
        confirm: (command) =>
          driver.confirm({ ...command, id: command.id && (displaced.get(command.id) ?? command.id) }),
      }
    }),
    caughtBy: ['reserve: lets only the new attempt be confirmed', SCRIPTS.ofAnything],
  },
]

export const attemptMutants: readonly Mutant[] = [
  {
    it: 'confirms whatever attempt is pending',
    createStore: overDriver((driver) => ({
      async confirm(command) {
        const pending = await driver.findPending({ ...command, id: null, uploadId: null })
        return driver.confirm(pending ? { ...command, id: null } : command)
      },
    })),
    caughtBy: ['confirm: confirms only the attempt that it names', SCRIPTS.aboutAttempts],
  },
  {
    it: 'does not take a confirm twice',
    createStore: overDriver((driver) => ({
      async confirm(command) {
        const pending = await driver.findPending({ ...command, uploadId: null })
        return pending ? driver.confirm(command) : { outcome: 'not-found' }
      },
    })),
    caughtBy: [
      'confirm: may be repeated by the attempt that made the active row, with its size',
      SCRIPTS.aboutAttempts,
    ],
  },
  {
    it: 'takes a confirm again whatever size and eTag it names',
    createStore: overDriver((driver) => ({
      async confirm(command) {
        const result = await driver.confirm(command)
        const active = await driver.findActive(command)
        if (result.outcome !== 'not-found' || active === null || active.attemptId !== command.id)
          return result
        return { outcome: 'confirmed', row: active, scopes: [] }
      },
    })),
    caughtBy: ['confirm: may not be repeated with another size or another eTag', SCRIPTS.aboutAttempts],
  },
  {
    it: 'takes the id of the object for that of its last attempt',
    createStore: overDriver((driver) => ({
      async confirm(command) {
        const active = await driver.findActive(command)
        return driver.confirm(
          active?.id === command.id && active ? { ...command, id: active.attemptId } : command,
        )
      },
    })),
    caughtBy: [
      'confirm: may not be repeated by an attempt that was replaced since, nor by the id of the object',
    ],
  },
  {
    it: 'moves updatedAt with a repeated confirm',
    createStore: overStore((store, { now }) => ({
      async confirm(input) {
        return { ...(await store.confirm(input)), updatedAt: now() }
      },
    })),
    caughtBy: [
      'confirm: may be repeated by the attempt that made the active row, with its size',
      SCRIPTS.aboutAttempts,
    ],
  },
  {
    it: 'confirms for any scope',
    createStore: overDriver((driver) => ({
      confirm: (command) => driver.confirm({ ...command, scope: null }),
    })),
    caughtBy: ['confirm: answers another scope as if nothing were there', SCRIPTS.aboutAttempts],
  },
  {
    it: 'confirms no lapsed reservation',
    createStore: overStore((store, { now }) => ({
      async confirm(input) {
        const pending = await store.findPending(input)
        if (pending && pending.expiresAt! <= now()) throw new StorageError('OBJECT_NOT_FOUND')
        return store.confirm(input)
      },
    })),
    caughtBy: ['confirm: works on a lapsed reservation until it is dropped', SCRIPTS.aboutAttempts],
  },
  {
    it: 'forgets the content type of the attempt where confirm names none',
    createStore: overChanges((change) => {
      const { before, after } = change
      const confirmed = before.pending && after.active && !after.pending ? after.active : null
      if (!confirmed || confirmed.contentType !== before.pending?.contentType) return change
      return { ...change, after: { ...after, active: { ...confirmed, contentType: null } } }
    }),
    caughtBy: ['confirm: keeps the content type of the attempt where it names none', SCRIPTS.aboutAttempts],
  },
  {
    it: 'sets another upload id over the first',
    createStore: overDriver((driver) => ({
      async setUploadId(command) {
        const result = await driver.setUploadId(command)
        const pending = await driver.findPending({ ...command, uploadId: null })
        if (result.outcome !== 'other-upload' || pending === null) return result
        await driver.release({ ...command, scope: null, uploadId: null })
        const again = await driver.reserve({
          ...pending,
          ...command,
          declaredSize: pending.declaredSize!,
          expiresAt: pending.expiresAt!,
          overwrite: true,
          quota: NO_QUOTA,
        })
        return again.outcome === 'reserved' ? { outcome: 'set', row: again.row, scopes: [] } : result
      },
    })),
    caughtBy: ['setUploadId: refuses another upload id', SCRIPTS.aboutAttempts],
  },
  {
    it: 'sets the upload id of whatever attempt is pending',
    createStore: overDriver((driver) => ({
      async setUploadId(command) {
        const pending = await driver.findPending({ ...command, id: null, uploadId: null })
        return driver.setUploadId({ ...command, id: pending?.id ?? command.id })
      },
    })),
    caughtBy: ['setUploadId: refuses an attempt that has ended', SCRIPTS.aboutAttempts],
  },
  {
    it: 'releases whatever attempt is pending',
    createStore: overDriver((driver) => ({ release: (command) => driver.release({ ...command, id: null }) })),
    caughtBy: ["release: never touches a newer attempt for an old one's abort", SCRIPTS.aboutAttempts],
  },
  {
    it: 'releases whatever upload is pending',
    createStore: overDriver((driver) => ({
      release: (command) => driver.release({ ...command, uploadId: null }),
    })),
    caughtBy: ['release: releases only the attempt and the upload that it names', SCRIPTS.aboutAttempts],
  },
  {
    it: 'releases for any scope',
    createStore: overDriver((driver) => ({
      release: (command) => driver.release({ ...command, scope: null }),
    })),
    caughtBy: ['release: answers another scope as if nothing were there', SCRIPTS.aboutAttempts],
  },
  {
    it: 'releases the object with its replacement',
    createStore: overDriver((driver) => ({
      async release(command) {
        const result = await driver.release(command)
        if (result.row) await driver.remove({ ...command, mode: 'soft' })
        return result
      },
    })),
    caughtBy: ['release: never touches the object that the attempt was to replace', SCRIPTS.aboutAttempts],
  },
  {
    it: 'finds a pending row whatever upload is asked for',
    createStore: overDriver((driver) => ({
      findPending: (query) => driver.findPending({ ...query, uploadId: null }),
    })),
    caughtBy: ['finds: findPending shows only that attempt and that upload', SCRIPTS.aboutAttempts],
  },
  {
    it: 'finds lapsed reservations for an upload to go on',
    createStore: overDriver((driver) => ({
      findPendingMultipart: (query) => driver.findPendingMultipart({ ...query, now: new Date(0) }),
    })),
    caughtBy: ['finds: findPendingMultipart shows no lapsed row', SCRIPTS.aboutAttempts],
  },
]
