import { StorageError, type StorageObject, createAttemptId } from '../../src/adapter.js'
import { END_OF_TIME } from '../conformance/clock.js'
import {
  SCRIPTS,
  overChanges,
  overDriver,
  overEveryRow,
  overReplacements,
  overStore,
  type Mutant,
} from './mutant.js'

export const confirmMutants: readonly Mutant[] = [
  {
    defect: 'ignores the id of a confirm',
    createStore: overDriver((driver) => ({
      async confirm(command) {
        const pending = await driver.findPending({ ...command, id: null, uploadId: null })
        return driver.confirm(pending ? { ...command, id: null } : command)
      },
    })),
    rejectedBy: ['confirm: confirms only the attempt with the given id', SCRIPTS.aboutAttempts],
  },
  {
    defect: 'refuses a repeated confirm',
    createStore: overDriver((driver) => ({
      async confirm(command) {
        const pending = await driver.findPending({ ...command, uploadId: null })
        return pending ? driver.confirm(command) : { outcome: 'not-found' }
      },
    })),
    rejectedBy: [
      'confirm: accepts a repeat by the attempt of the active row with the same size',
      SCRIPTS.aboutAttempts,
    ],
  },
  {
    defect: 'accepts a repeated confirm with another size or eTag',
    createStore: overDriver((driver) => ({
      async confirm(command) {
        const result = await driver.confirm(command)
        const active = await driver.findActive(command)
        if (result.outcome !== 'not-found' || active === null || active.attemptId !== command.id)
          return result
        return { outcome: 'confirmed', row: active, scopes: [] }
      },
    })),
    rejectedBy: ['confirm: refuses a repeat with another size or another eTag', SCRIPTS.aboutAttempts],
  },
  {
    defect: 'accepts the id of the object as the id of its attempt',
    createStore: overDriver((driver) => ({
      async confirm(command) {
        const active = await driver.findActive(command)
        return driver.confirm(
          active?.id === command.id && active ? { ...command, id: active.attemptId } : command,
        )
      },
    })),
    rejectedBy: ['confirm: refuses a repeat by a replaced attempt, or by the id of the object'],
  },
  {
    defect: 'updates updatedAt with a repeated confirm',
    createStore: overStore((store, { now }) => ({
      async confirm(input) {
        return { ...(await store.confirm(input)), updatedAt: now() }
      },
    })),
    rejectedBy: [
      'confirm: accepts a repeat by the attempt of the active row with the same size',
      SCRIPTS.aboutAttempts,
    ],
  },
  {
    defect: 'ignores the scope of a confirm',
    createStore: overDriver((driver) => ({
      confirm: (command) => driver.confirm({ ...command, scope: null }),
    })),
    rejectedBy: ['confirm: treats the key of another scope as not found', SCRIPTS.aboutAttempts],
  },
  {
    defect: 'refuses to confirm an expired reservation',
    createStore: overStore((store, { now }) => ({
      async confirm(input) {
        const pending = await store.findPending(input)
        if (pending && pending.expiresAt! <= now()) throw new StorageError('OBJECT_NOT_FOUND')
        return store.confirm(input)
      },
    })),
    rejectedBy: ['confirm: works on an expired reservation until it is dropped', SCRIPTS.aboutAttempts],
  },
  {
    defect: 'drops the content type of the attempt',
    createStore: overChanges((change) => {
      const { before, after } = change
      const confirmed = before.pending && after.active && !after.pending ? after.active : null
      if (!confirmed || confirmed.contentType !== before.pending?.contentType) return change
      return { ...change, after: { ...after, active: { ...confirmed, contentType: null } } }
    }),
    rejectedBy: ['confirm: keeps the content type of the attempt if none is given', SCRIPTS.aboutAttempts],
  },
  {
    defect: 'returns the object for a confirm without an id although another attempt is pending',
    createStore: overStore((store) => ({
      async confirm(input) {
        const active = input?.id == null && input?.eTag != null ? await store.findActive(input) : null
        const isSame = active !== null && active.size === input.size && active.eTag === input.eTag
        return isSame ? active : store.confirm(input)
      },
    })),
    rejectedBy: [
      'confirm: confirms the pending row without an id, even if size and eTag match the active row',
    ],
  },
  {
    defect: 'gives the object of a confirm without an id a new id',
    createStore: (context) => {
      const ids = new Map<string, string>()
      const store = overEveryRow((row) => ({ ...row, id: ids.get(row.id) ?? row.id }))(context)
      return {
        ...store,
        async confirm(input) {
          const active = await store.findActive(input)
          const row = await store.confirm(input)
          if (input.id != null || active !== null) return row
          ids.set(row.id, createAttemptId())
          return { ...row, id: ids.get(row.id)! }
        },
      }
    },
    rejectedBy: ['confirm: confirms the pending row if no id is given'],
  },
  {
    defect: 'ignores the content type of a confirm',
    createStore: overStore((store) => ({
      async confirm(input) {
        const pending = await store.findPending(input)
        return store.confirm({ ...input, contentType: pending?.contentType ?? input.contentType })
      },
    })),
    rejectedBy: ['confirm: makes the pending row active with the verified fields', SCRIPTS.aboutAttempts],
  },
  {
    defect: 'accepts a repeat without an id and without an eTag',
    createStore: overStore((store) => ({
      confirm: (input) =>
        store.confirm(input).catch(async (error: unknown) => {
          const active = input?.id == null ? await store.findActive(input) : null
          if (active === null || active.eTag !== null || active.size !== input.size) throw error
          return active
        }),
    })),
    rejectedBy: ['confirm: refuses a repeat without an id if the active row has no eTag'],
  },
  {
    defect: 'accepts a repeat with an eTag if the object has none',
    createStore: overStore((store) => ({
      confirm: (input) =>
        store.confirm(input).catch(async (error: unknown) => {
          const active = input?.id != null ? await store.findActive(input) : null
          if (active?.attemptId !== input.id || active?.eTag !== null) throw error
          return active
        }),
    })),
    rejectedBy: ['confirm: refuses a repeat with an eTag if the active row has none'],
  },
  {
    defect: 'confirms a released attempt',
    createStore: overStore((store) => {
      const released = new Map<string, StorageObject>()
      return {
        async release(input) {
          const row = await store.release(input)
          if (row) released.set(row.id, row)
          return row
        },
        async confirm(input) {
          const row = released.get(input?.id ?? '')
          if (row) await store.reserve({ ...row, declaredSize: row.declaredSize!, expiresAt: row.expiresAt! })
          return store.confirm(input)
        },
      }
    }),
    rejectedBy: ['confirm: refuses a released attempt'],
  },
  {
    defect: 'creates the object of a confirm without a reservation',
    createStore: overStore((store) => ({
      async confirm(input) {
        if (input?.id == null && (await store.find(input)) === null) {
          const { bucket, key, size } = input
          await store.reserve({ scope: 'alice', bucket, key, declaredSize: size, expiresAt: END_OF_TIME })
        }
        return store.confirm(input)
      },
    })),
    rejectedBy: ['confirm: refuses a key that was never reserved'],
  },
  {
    defect: 'confirms an attempt of another key',
    createStore: overDriver((driver) => {
      const keyOf = new Map<string, string>()
      return {
        async reserve(command) {
          keyOf.set(command.id, command.key)
          return driver.reserve(command)
        },
        confirm: (command) =>
          driver.confirm({ ...command, key: (command.id && keyOf.get(command.id)) ?? command.key }),
      }
    }),
    rejectedBy: ['confirm: refuses an attempt of another key'],
  },
  {
    defect: 'gives a new object the id of the removed one',
    createStore: overStore((store) => ({
      async confirm(input) {
        const row = await store.confirm(input)
        const { objects } = await store.listByScope({ scope: row.scope, status: 'deleted' })
        return row.storageKey ? row : { ...row, id: objects.find(({ key }) => key === row.key)?.id ?? row.id }
      },
    })),
    rejectedBy: ['confirm: creates a new object if the key was removed before'],
  },
  {
    defect: 'changes the id of an object with its second replacement',
    createStore: overReplacements((active, replaced) =>
      replaced.id === replaced.attemptId ? active : { ...active, id: active.attemptId },
    ),
    rejectedBy: ['confirm: keeps the id of the first attempt through many replacements'],
  },
  {
    defect: 'accepts a repeat after the object was removed',
    createStore: overStore((store) => ({
      confirm: (input) =>
        store.confirm(input).catch(async (error: unknown) => {
          const row = input?.id == null ? null : await store.find(input)
          if (row?.status !== 'deleted' || row.attemptId !== input.id) throw error
          return row
        }),
    })),
    rejectedBy: ['confirm: refuses a repeat after the object was removed'],
  },
]
