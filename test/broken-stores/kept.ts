import type { EndedObject, EndedObjectInput } from '../../src/adapter.js'
import {
  SCRIPTS,
  driverCall,
  driverInput,
  driverResult,
  gap,
  invalid,
  overChanges,
  overDriver,
  overRecording,
  overStore,
  overTables,
  storeInput,
  withActive,
  type Mutants,
} from './mutant.js'

const UNKNOWN_ID = '0199a000-0000-7000-8000-0000000000fe'
const ALL_OR_NONE = 'keep: clears none if one is missing, and names all that are missing'
const KEEPS = 'endTemporary: clears the end of those in keep, by id or attempt, whether or not it has come'
const GRACE = 'endTemporary: removes no object sooner than 60 seconds after its end'
const VERY_END = 'endTemporary: acts only where the version and the very end that were listed still hold'
const REMOVES = 'endTemporary: removes objects as remove does, and returns them in the order given'

const byKey = (a: { readonly key: string }, b: { readonly key: string }) => (a.key < b.key ? -1 : 1)

export const keptMutants: Mutants = {
  'returns kept objects in the order of their keys': [
    driverResult('keep', (result) =>
      result.outcome === 'kept' ? { ...result, rows: result.rows.toSorted(byKey) } : result,
    ),
    'keep: clears the end of all objects, and returns them in the order given',
  ],
  'keeps updatedAt of objects whose end is cleared': [
    overChanges((change) => {
      const { before, after } = change
      const isCleared = before.active?.temporaryUntil && after.active && !after.active.temporaryUntil
      const isSame = isCleared && before.active.attemptId === after.active.attemptId
      return isSame ? withActive(change, { updatedAt: before.active.updatedAt }) : change
    }),
    'keep: clears the end of all objects, and returns them in the order given',
    SCRIPTS.aboutTemporary,
  ],
  'counts objects once more when they are kept': [
    overStore((store) => {
      const keeps = new Map<string, number>()
      return {
        async keep(input) {
          const rows = await store.keep(input)
          keeps.set(input.scope, (keeps.get(input.scope) ?? 0) + rows.length)
          return rows
        },
        async getScopeUsage(scope) {
          const usage = await store.getScopeUsage(scope)
          return { ...usage, files: usage.files + (keeps.get(scope) ?? 0) }
        },
      }
    }),
    'keep: clears the end of all objects, and returns them in the order given',
    SCRIPTS.aboutTemporary,
  ],
  'finds objects to keep by their own id only': [
    driverInput('keep', async (command, driver) => {
      const objects = command.objects.map(async (object) => {
        const row = await driver.findById({ id: object.id, scope: null })
        return row ? object : { ...object, id: UNKNOWN_ID }
      })
      return { ...command, objects: await Promise.all(objects) }
    }),
    'keep: finds an object by its id and by that of the attempt that made its present version',
    SCRIPTS.aboutTemporary,
  ],
  'keeps any version of an object': [
    driverInput('keep', (command) => ({
      ...command,
      objects: command.objects.map((object) => ({ ...object, attemptId: null })),
    })),
    'keep: finds an object by its id and by that of the attempt that made its present version',
    ALL_OR_NONE,
    SCRIPTS.aboutTemporary,
  ],
  'keeps those objects that are there': [
    driverCall('keep', async (command, driver) => {
      const result = await driver.keep(command)
      if (result.outcome !== 'missing') return result
      const objects = command.objects.filter((_, index) => !result.indexes.includes(index))
      if (objects.length > 0) await driver.keep({ ...command, objects })
      return result
    }),
    ALL_OR_NONE,
    SCRIPTS.aboutTemporary,
  ],
  'names only the first missing object': [
    driverResult('keep', (result) =>
      result.outcome === 'missing' ? { ...result, indexes: result.indexes.slice(0, 1) } : result,
    ),
    ALL_OR_NONE,
    SCRIPTS.aboutTemporary,
  ],
  'shows another updatedAt for objects that a keep leaves as they are': [
    driverResult('keep', (result, { now }) => {
      if (result.outcome !== 'kept') return result
      return { ...result, rows: result.rows.map((row) => (row.arrivedAt ? row : { ...row, updatedAt: now })) }
    }),
    'keep: leaves an object without an end as it is',
  ],
  'keeps an object twice under both its ids': [
    driverCall('keep', async (command, driver) => {
      const result = await driver.keep(command)
      if (result.outcome !== 'repeated') return result
      const objects = command.objects.filter((_, index) => index !== result.index)
      return driver.keep({ ...command, objects })
    }),
    'keep: refuses an object twice, also under both its ids',
    SCRIPTS.aboutTemporary,
  ],
  'keeps at most 99 objects': [
    storeInput('keep', (input) => {
      if (Array.isArray(input?.objects) && input.objects.length === 100) throw invalid('objects')
      return input
    }),
    'keep: takes up to 100 objects',
  ],
  'leaves the term of an arrived attempt that is kept': [
    overChanges((change) => {
      const { before, after } = change
      const isKept = before.pending?.temporarySeconds && after.pending?.temporarySeconds === null
      const isSame = isKept && before.pending.id === after.pending.id
      return isSame ? { ...change, after: before } : change
    }),
    'keep: makes an arrived attempt stay once it is accepted, without a change of its row',
  ],
  'returns objects as kept that have been removed since they were looked up': [
    driverCall('keep', async (command, driver) => {
      const { scope, objects, now } = command
      const found = await Promise.all(objects.map(({ id }) => driver.findById({ id, scope })))
      const rows = found.flatMap((row) =>
        row?.status === 'active' && (row.temporaryUntil ?? now) >= now ? [row] : [],
      )
      await gap()
      const result = await driver.keep(command)
      const isLost = result.outcome === 'missing' && rows.length === objects.length
      const withoutEnd = rows.map((row) => ({ ...row, temporaryUntil: null, updatedAt: now }))
      const isNamed = objects.every(({ attemptId }) => attemptId === null)
      return isLost && isNamed ? { outcome: 'kept', rows: withoutEnd } : result
    }),
    'verdicts and ends at the same time: keep an object or remove it',
    SCRIPTS.overTemporary,
  ],

  'removes temporary objects as soon as their end has come': [
    driverInput('endTemporary', (command) => ({ ...command, endedBy: command.now })),
    GRACE,
    SCRIPTS.aboutTemporary,
  ],
  'removes temporary objects a millisecond early': [
    driverInput('endTemporary', (command) => ({
      ...command,
      endedBy: new Date(command.endedBy.getTime() + 1),
    })),
    GRACE,
  ],
  'returns ended objects in the order of their keys': [
    driverResult('endTemporary', ({ rows }) => ({ rows: rows.toSorted(byKey) })),
    REMOVES,
  ],
  'leaves no leftover of an ended object': [
    overChanges((change) => {
      const isEnd = change.before.active?.temporaryUntil && !change.after.active
      return isEnd ? { ...change, leftovers: [] } : change
    }),
    REMOVES,
    SCRIPTS.aboutTemporary,
  ],
  'ends uploads at the keys of ended objects': [
    driverCall('endTemporary', async (command, driver) => {
      const result = await driver.endTemporary(command)
      for (const { bucket, key } of result.rows) {
        await driver.release({ bucket, key, id: null, scope: null, uploadId: null, now: command.now })
      }
      return result
    }),
    'endTemporary: leaves uploads and arrived attempts at the key as they are',
    SCRIPTS.aboutTemporary,
  ],
  'ends objects whatever end was listed': [
    overPresent(({ temporaryUntil }, object) => ({ ...object, temporaryUntil })),
    VERY_END,
    SCRIPTS.aboutTemporary,
  ],
  'ends objects whatever version was listed': [
    overPresent(({ id, attemptId }, object) => ({ ...object, id, attemptId })),
    VERY_END,
    SCRIPTS.aboutTemporary,
  ],
  'keeps objects in a clean-up only once they have ended': [
    driverInput('endTemporary', (command) => ({
      ...command,
      objects: command.objects.map((object) => ({
        ...object,
        isKept: object.isKept && object.temporaryUntil <= command.now,
      })),
    })),
    KEEPS,
    SCRIPTS.aboutTemporary,
  ],
  'keeps objects in a clean-up by their own ids only': [
    storeInput('endTemporary', (input) => {
      const { objects, keep } = { ...input } as Partial<typeof input>
      if (!Array.isArray(objects) || !Array.isArray(keep)) return input
      const isAttempt = (id: unknown) =>
        objects.some((object: Partial<EndedObject> | null) => object?.attemptId === id && object?.id !== id)
      return { ...input, keep: keep.filter((id) => !isAttempt(id)) }
    }),
    KEEPS,
  ],
  'ignores ids to keep that none of the objects has': [
    storeInput('endTemporary', (input) => {
      const { objects, keep } = { ...input } as Partial<typeof input>
      if (!Array.isArray(objects) || !Array.isArray(keep) || keep.length < 2) return input
      const isOne = (id: unknown) => objects.some((object: Partial<EndedObject> | null) => object?.id === id)
      return { ...input, keep: keep.filter(isOne) }
    }),
    'endTemporary: refuses to keep an object that is none of those given',
  ],
  'ends no object that has another owner than when it was listed': [
    storeInput('endTemporary', async (input, store) => {
      if (!Array.isArray(input?.objects)) return input
      const objects = input.objects.map(async (object: EndedObjectInput) => {
        const { bucket, key, scope } = { ...object } as Partial<Record<'bucket' | 'key' | 'scope', string>>
        if (!bucket || !key || !scope || !object.temporaryUntil) return object
        const active = await store.findActive({ bucket, key }).catch(() => null)
        const temporaryUntil = new Date(object.temporaryUntil.getTime() + 1)
        return active && active.scope !== scope ? { ...object, temporaryUntil } : object
      })
      return { ...input, objects: await Promise.all(objects) }
    }),
    'endTemporary: removes an object that has another owner since it was listed',
  ],

  'records no event of a keep': [
    overRecording((change, now) => {
      const isKept = change.previous?.temporaryUntil && !change.object.temporaryUntil
      return change.type === 'updated' && isKept ? [] : [[change, now]]
    }),
    'events of temporary objects: are updated by a keep, only for objects that had an end',
    'events of temporary objects: are deleted, or updated for those that stay',
    SCRIPTS.aboutTemporary,
  ],
  'records no event of ended objects': [
    overTables(({ events }, driver) => ({
      async endTemporary(command) {
        const record = events.record.bind(events)
        events.record = () => {}
        const ended = driver.endTemporary(command)
        events.record = record
        return ended
      },
    })),
    'events of temporary objects: are deleted, or updated for those that stay',
    SCRIPTS.aboutTemporary,
  ],
}

/** Changes each object to end by what is active at its key. */
function overPresent(
  changed: (
    active: Pick<EndedObject, 'id' | 'attemptId' | 'temporaryUntil'>,
    object: EndedObject,
  ) => EndedObject,
) {
  return overDriver((driver) => ({
    async endTemporary(command) {
      const objects = command.objects.map(async (object) => {
        const { bucket, key } = object
        const active = await driver.findActive({ bucket, key, scope: null })
        if (!active?.temporaryUntil) return object
        return changed({ ...active, temporaryUntil: active.temporaryUntil }, object)
      })
      return driver.endTemporary({ ...command, objects: await Promise.all(objects) })
    },
  }))
}
