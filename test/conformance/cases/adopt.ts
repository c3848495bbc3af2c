import type { StorageObject } from '../../../src/core/store/records.js'
import { holds, refused, refusedField, same, sameFields } from '../assertions.js'
import { isAttemptId } from '../attempt-ids.js'
import { END_OF_TIME, HOUR, MINUTE } from '../clock.js'
import { EMPTY_ROW } from '../empty-row.js'
import { AWKWARD, longest } from '../properties/texts.js'
import type { CaseGroup } from '../given.js'
import { NO_USAGE, idsOf } from '../given.js'

export const adoptCases: CaseGroup = {
  title: 'adopt',
  cases: {
    'creates an active row': async (given) => {
      const { store, clock, at, scope } = given
      const createdAt = clock.in(-HOUR)
      const fields = {
        ...{ storageKey: 'stored', size: 7, eTag: 'etag', route: 'route', filename: 'name' },
        ...{ contentType: 'text/plain', metadata: { a: '1' } },
      }
      const row = await given.adopted({ ...fields, createdAt })
      const { id } = row
      holds(isAttemptId(id), `the id ${id} is not a lower-case UUIDv7`)
      const now = clock.now()
      same(row, {
        ...{ ...EMPTY_ROW, id, attemptId: id, scope, ...at, status: 'active', ...fields },
        ...{ createdAt, updatedAt: now, confirmedAt: now },
      })
      same(await store.findActive(at), row, 'the active row')
      same((await store.listByScope({ scope, route: 'route' })).objects, [row], 'the list')
      same(await store.countByScope(scope, 'active'), 1, 'rows of the scope')
      same(await store.getScopeUsage(scope), { ...NO_USAGE, bytes: 7, files: 1 }, 'usage')
      same(await store.checkUsage(), [], 'checkUsage')
      same(await given.leftovers(), [], 'leftovers')
    },

    'needs no eTag, route, filename, content type and metadata': async (given) => {
      sameFields(await given.adopted({ size: 0 }), {
        ...{ eTag: null, route: null, filename: null, contentType: null, metadata: null, size: 0 },
      })
    },

    'makes an id that carries createdAt, also before 1970 and in the year 9999': async (given) => {
      const { store, scope } = given
      const dates = [
        END_OF_TIME,
        given.clock.in(HOUR),
        new Date('2009-02-13T23:31:30.123Z'),
        new Date(1),
        new Date(0),
        new Date('1969-12-31T23:59:59.999Z'),
        new Date('1900-01-01T00:00:00.001Z'),
        new Date('0001-01-01T00:00:00.000Z'),
      ]
      const rows: StorageObject[] = []
      for (const [index, createdAt] of dates.entries()) {
        const row = await given.adopted({ key: `key ${index}`, storageKey: `stored ${index}`, createdAt })
        const time = Math.max(0, createdAt.getTime()).toString(16).padStart(12, '0')
        same(
          row.id.replaceAll('-', '').slice(0, 12),
          time,
          `the time in the id of ${createdAt.toISOString()}`,
        )
        same(row.createdAt, createdAt, 'createdAt')
        same(await store.find(row), row, 'the row')
        rows.push(row)
      }
      const sorted = idsOf(rows).sort().reverse()
      same(idsOf((await store.listByScope({ scope })).objects), sorted, 'the list, newest first')
      same(new Set(sorted).size, dates.length, 'different ids')
    },

    'stores any text of any length': async (given) => {
      const { store } = given
      for (const [index, text] of AWKWARD.entries()) {
        const at = { bucket: text, key: `${index} ${text}`, scope: text }
        const fields = { storageKey: text, filename: text, contentType: text, route: text, eTag: text }
        const row = await given.adopted({ ...at, ...fields, metadata: { [text]: `$${text}` } })
        sameFields(row, { ...at, ...fields, metadata: { [text]: `$${text}` } })
        same(await store.findActive(at), row, `the active row of ${JSON.stringify(text)}`)
        same(await given.adopt({ ...at, key: 'another', storageKey: text }), { object: row, known: true })
      }
      const short = longest(255)
      const changes = {
        ...{ scope: short, bucket: short, key: longest(256), storageKey: longest(256) },
        ...{ filename: longest(1024), contentType: short, route: short, eTag: short },
      }
      const row = await given.adopted({ ...changes, size: Number.MAX_SAFE_INTEGER })
      same(await store.findActive(changes), row, 'the active row with the longest names')
    },

    'can be replaced, updated and removed like any object': async (given) => {
      const { store, clock, at } = given
      const row = await given.adopted()
      clock.advance(MINUTE)
      const { attemptId } = await given.reserve({ storageKey: 'replacement' })
      sameFields(await given.confirm(), { id: row.id, attemptId, createdAt: row.createdAt })
      const [leftover] = await given.leftovers()
      sameFields(leftover ?? null, { attemptId: row.attemptId, storageKey: 'adopted' })
      sameFields(await store.remove({ ...at, attemptId }), { status: 'deleted', id: row.id })
    },

    'leaves nothing that could still write to the bytes': async (given) => {
      const { store, clock, at } = given
      const { attemptId, updatedAt } = await given.adopted()
      clock.advance(HOUR)
      await store.remove(at)
      const times = { since: clock.now(), writableUntil: updatedAt }
      same(await given.leftovers(), [
        given.leftover({ attemptId, storageKey: 'adopted', uploadId: null, ...times }),
      ])
    },

    'returns the object as known to a repeat after a lost response': async (given) => {
      const { store, clock, scope } = given
      const row = await given.adopted()
      clock.advance(MINUTE)
      same(await given.adopt(), { object: row, known: true })
      same(await store.countByScope(scope), 1, 'rows of the scope')
      same(await store.getScopeUsage(scope), { ...NO_USAGE, bytes: 10, files: 1 }, 'usage')
    },

    'is refused by no quota, and counts toward the next one': async (given) => {
      const { store, scope } = given
      const quota = { maxBytes: 10, maxFiles: 1 }
      await given.activate({ key: 'full', quota })
      await refused(() => given.reserve({ quota }), 'QUOTA_EXCEEDED')
      sameFields(await given.adopted({ size: 7 }), { size: 7 })
      same(await store.getScopeUsage(scope), { ...NO_USAGE, bytes: 17, files: 2 }, 'usage')
      const refusal = { limit: 'maxBytes', max: 18, used: 17, reserved: 0, requested: 2 }
      const over = { key: 'another', declaredSize: 2, quota: { maxBytes: 18 } }
      await refused(() => given.reserve(over), 'QUOTA_EXCEEDED', refusal)
    },

    'refuses a sum that is no longer a safe integer': async (given) => {
      const { store, at, scope } = given
      await given.reserve({ key: 'another', declaredSize: Number.MAX_SAFE_INTEGER - 9 })
      await refusedField(() => given.adopt(), 'size')
      same(await store.find(at), null, 'the row')
      sameFields(await given.adopted({ size: 9 }), { size: 9, scope })
    },
  },
}
