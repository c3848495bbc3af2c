import type { ReportedChange } from '../event-views.js'
import { holds, refusedField, same, sameFields } from '../assertions.js'
import { MINUTE } from '../clock.js'
import { AWKWARD } from '../properties/texts.js'
import type { CaseGroup } from '../given.js'
import { allOf, numbers } from '../given.js'

const METADATA = { a: '1', b: '2' }

/** 64 names, the limit. */
const MANY = Object.fromEntries(numbers(64).map((number) => [`name ${number}`, ''] as const))

/** A name and a value of 16 KiB of UTF-8, the limit. */
const LARGE = { é: 'é'.repeat(8 * 1024 - 1) }

export const setMetadataCases: CaseGroup = {
  title: 'setMetadata of an update',
  cases: {
    'sets and removes the names that it has, and keeps the others': async (given) => {
      const { store, clock, at } = given
      let row = await given.activate({ metadata: METADATA })
      const steps = [
        [{ c: '3' }, { ...METADATA, c: '3' }],
        [
          { a: 'new', b: null },
          { a: 'new', c: '3' },
        ],
        [
          { a: null, b: '', c: '4', d: '' },
          { b: '', c: '4', d: '' },
        ],
      ] as const
      for (const [setMetadata, metadata] of steps) {
        clock.advance(MINUTE)
        row = { ...row, metadata, updatedAt: clock.now() }
        same(await store.update({ ...at, setMetadata }), row)
        same(await store.findActive(at), row, 'the active row')
      }
    },

    'leaves null where no name is left': async (given) => {
      const { store, at } = given
      await given.activate({ metadata: METADATA })
      sameFields(await store.update({ ...at, setMetadata: { a: null, b: null } }), { metadata: null })
      sameFields(await store.findActive(at), { metadata: null }, 'the active row')
      sameFields(await store.update({ ...at, setMetadata: { c: '3' } }), { metadata: { c: '3' } })
    },

    'changes nothing, not even updatedAt, if no name differs': async (given) => {
      const { store, clock, at } = given
      for (const metadata of [METADATA, null]) {
        const active = await given.activate({ metadata })
        clock.advance(MINUTE)
        for (const setMetadata of [{ missing: null }, { ...metadata }, { ...metadata, missing: null }]) {
          same(
            await store.update({ ...at, setMetadata }),
            active,
            `the result of ${JSON.stringify(setMetadata)}`,
          )
        }
        same(await store.findActive(at), active, 'the active row')
      }
    },

    'changes nothing without names, also of metadata that is empty': async (given) => {
      const { store, clock, at } = given
      for (const metadata of [METADATA, {}, null]) {
        const active = await given.activate({ metadata })
        clock.advance(MINUTE)
        same(await store.update({ ...at, setMetadata: {} }), active)
        sameFields(await store.update({ ...at, setMetadata: {}, filename: 'new' }), {
          metadata,
          filename: 'new',
        })
      }
    },

    'sets other fields in the same step': async (given) => {
      const { store, at } = given
      await given.activate({ metadata: METADATA })
      const changes = { filename: 'new', contentType: 'a/b', eTag: 'tag' }
      const row = await store.update({ ...at, ...changes, setMetadata: { a: null } })
      sameFields(row, { ...changes, metadata: { b: '2' } })
    },

    'leaves at most 64 names': async (given) => {
      const { store, at } = given
      await given.activate({ metadata: MANY })
      for (const setMetadata of [{ more: '' }, { more: '', other: null }]) {
        await refusedField(() => store.update({ ...at, setMetadata }), 'setMetadata')
      }
      await refusedField(() => store.update({ ...at, setMetadata: { ...MANY, more: '' } }), 'setMetadata')
      sameFields(await store.findActive(at), { metadata: MANY }, 'the active row')
    },

    'leaves at most 16 KiB of UTF-8': async (given) => {
      const { store, at } = given
      await given.activate({ metadata: { a: '' } })
      await refusedField(() => store.update({ ...at, setMetadata: LARGE }), 'setMetadata')
      sameFields(await store.update({ ...at, setMetadata: { ...LARGE, a: null } }), { metadata: LARGE })
      await refusedField(() => store.update({ ...at, setMetadata: { a: '' } }), 'setMetadata')
      sameFields(await store.findActive(at), { metadata: LARGE }, 'the active row')
    },

    'has room for what replaces other names or values': async (given) => {
      const { store, at } = given
      await given.activate({ metadata: MANY })
      const { 'name 0': _, ...others } = MANY
      const metadata = { ...others, 'name 1': 'new', more: '' }
      const changes = { 'name 0': null, 'name 1': 'new', more: '' }
      sameFields(await store.update({ ...at, setMetadata: changes }), { metadata })
      const names = Object.fromEntries(Object.keys(metadata).map((name) => [name, null]))
      sameFields(await store.update({ ...at, setMetadata: { ...names, ...LARGE } }), { metadata: LARGE })
      const same16KiB = { é: `${'é'.repeat(8 * 1024 - 2)}ab` }
      sameFields(await store.update({ ...at, setMetadata: same16KiB }), { metadata: same16KiB })
    },

    'changes no other field if it is refused': async (given) => {
      const { store, at } = given
      const active = await given.activate({ metadata: MANY, filename: 'old' })
      given.clock.advance(MINUTE)
      const changes = { filename: 'new', contentType: 'new', eTag: 'new' }
      await refusedField(() => store.update({ ...at, ...changes, setMetadata: { more: '' } }), 'setMetadata')
      same(await store.findActive(at), active, 'the active row')
    },

    'is refused together with metadata': async (given) => {
      const { store, at } = given
      const active = await given.activate({ metadata: METADATA })
      for (const metadata of [{ c: '3' }, {}, null]) {
        for (const setMetadata of [{ c: '3' }, {}]) {
          await refusedField(() => store.update({ ...at, metadata, setMetadata }), 'setMetadata')
        }
      }
      same(await store.findActive(at), active, 'the active row')
      const setMetadata = { b: null }
      sameFields(await store.update({ ...at, metadata: undefined, setMetadata }), { metadata: { a: '1' } })
    },

    'stores any text under any name, and removes it': async (given) => {
      const { store, at } = given
      await given.activate({ metadata: METADATA })
      const special = ['$unset', '$$ROOT', '', 'toString', 'hasOwnProperty', 'metadata.a', '0']
      for (const name of [...AWKWARD, ...special]) {
        const metadata = Object.fromEntries([...Object.entries(METADATA), [name, `$${name}`]])
        const set = await store.update({ ...at, setMetadata: Object.fromEntries([[name, `$${name}`]]) })
        sameFields(set, { metadata }, `the result for ${JSON.stringify(name)}`)
        sameFields(await store.findActive(at), { metadata }, `the active row for ${JSON.stringify(name)}`)
        const removed = await store.update({ ...at, setMetadata: Object.fromEntries([[name, null]]) })
        sameFields(removed, { metadata: METADATA }, `the result without ${JSON.stringify(name)}`)
      }
    },

    'tells similar names apart': async (given) => {
      const { store, at } = given
      const names = ['name', 'Name', 'name ', ' name', 'n\u00e4me', 'na\u0308me', 'n', 'ﬁ', 'fi']
      const metadata = Object.fromEntries(names.map((name) => [name, name]))
      await given.activate({ metadata })
      for (const name of names) {
        const { [name]: _, ...others } = metadata
        sameFields(await store.update({ ...at, setMetadata: { [name]: null } }), { metadata: others })
        sameFields(await store.update({ ...at, setMetadata: { [name]: name } }), { metadata })
      }
    },

    'changes only the scope and the attempt that it names': async (given) => {
      const { store, at, scope, otherScope } = given
      const setMetadata = { c: '3' }
      same(await store.update({ ...at, setMetadata }), null, 'update of an unknown key')
      const { id } = await given.activate({ metadata: METADATA })
      const active = await given.activate({ metadata: METADATA })
      const pending = await given.reserve({ metadata: METADATA })
      for (const attemptId of [id, pending.id, given.newId()]) {
        same(await store.update({ ...at, attemptId, setMetadata }), null, 'update by another attempt')
      }
      same(await store.update({ ...at, scope: otherScope, setMetadata }), null, 'update by another scope')
      same(await store.findActive(at), active, 'the active row')
      const { attemptId } = active
      const metadata = { ...METADATA, c: '3' }
      sameFields(await store.update({ ...at, scope, attemptId, setMetadata }), { metadata })
      same(await store.findPending(at), pending, 'the replacement')
    },

    'loses no name of fifty writers at the same time': async (given) => {
      const { store, at } = given
      await given.activate({ metadata: { kept: 'yes', removed: 'yes' } })
      const writers = numbers(50).map((writer) => ({
        name: `name ${writer % 10}`,
        value: `writer ${writer}`,
      }))
      const rows = await allOf(
        writers.map(({ name, value }) =>
          store.update({ ...at, setMetadata: { [name]: value, removed: null } }),
        ),
      )
      rows.forEach((row, index) => {
        const { name, value } = writers[index]!
        same(row?.metadata?.[name], value, `${name} in the result of its writer`)
      })
      const { metadata } = (await store.findActive(at))!
      const { kept, ...names } = metadata!
      same(kept, 'yes', 'the name that no call changes')
      same(
        Object.keys(names).sort(),
        numbers(10).map((number) => `name ${number}`),
        'the names',
      )
      for (const [name, value] of Object.entries(names)) {
        holds(
          writers.some((writer) => writer.name === name && writer.value === value),
          `${name} is ${value}`,
        )
      }
    },
  },
}

export const setMetadataEventCases: CaseGroup = {
  title: 'events of setMetadata',
  events: true,
  cases: {
    'have the rows before and after, also of writers at the same time': async (given) => {
      const { store, at } = given
      let row = await given.activate({ metadata: METADATA })
      await given.takeEvents()
      await allOf(
        numbers(10).map((n) => store.update({ ...at, setMetadata: { [`name ${n}`]: '', a: null } })),
      )
      const events: ReportedChange[] = await given.takeEvents()
      same(events.length, 10, 'events')
      for (const { type, object, previous } of events) {
        same([type, previous], ['updated', row], 'the type and the row before')
        row = object
      }
      same(await store.findActive(at), row, 'the active row')
    },
  },
}
