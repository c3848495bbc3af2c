import { refusedField, same, sameFields } from '../assertions.js'
import { MINUTE } from '../clock.js'
import { AWKWARD, longest } from '../properties/texts.js'
import type { CaseGroup } from '../given.js'
import { numbers } from '../given.js'

const METADATA = { a: '1', b: '2' }

export const updateCases: CaseGroup = {
  title: 'update',
  cases: {
    'sets the fields that it is given and updatedAt, and keeps everything else': async (given) => {
      const { store, clock, at, scope } = given
      const fields = { filename: 'a', contentType: 'b', metadata: METADATA, route: 'r', storageKey: 's' }
      let row = await given.activate(fields, { eTag: 'etag' })
      const changes = [
        { filename: 'new' },
        { contentType: 'new' },
        { metadata: { c: '3' } },
        { eTag: '"new"' },
        { filename: 'x', contentType: 'y', metadata: { d: '4' }, eTag: 'z' },
      ]
      for (const change of changes) {
        clock.advance(MINUTE)
        row = { ...row, ...change, updatedAt: clock.now() }
        same(await store.update({ ...at, ...change }), row)
        same(await store.findActive(at), row, 'the active row')
        same((await store.listByScope({ scope })).objects, [row], 'the list')
      }
    },

    'clears a field with null, and keeps one that is undefined': async (given) => {
      const { store, at } = given
      await given.activate({ filename: 'a', contentType: 'b', metadata: METADATA }, { eTag: 'etag' })
      sameFields(await store.update({ ...at, filename: null, contentType: undefined }), {
        ...{ filename: null, contentType: 'b', metadata: METADATA, eTag: 'etag' },
      })
      const cleared = { filename: null, contentType: null, metadata: null, eTag: null }
      sameFields(await store.update({ ...at, contentType: null, metadata: null, eTag: null }), cleared)
      sameFields(await store.findActive(at), cleared)
    },

    'replaces metadata as a whole': async (given) => {
      const { store, at } = given
      await given.activate({ metadata: METADATA })
      sameFields(await store.update({ ...at, metadata: { b: '3' } }), { metadata: { b: '3' } })
      sameFields(await store.update({ ...at, metadata: {} }), { metadata: {} })
    },

    'changes nothing, not even updatedAt, if no field differs': async (given) => {
      const { store, clock, at } = given
      const active = await given.activate({ filename: 'a', metadata: METADATA }, { eTag: 'etag' })
      clock.advance(MINUTE)
      const changes = [
        ...[{ filename: 'a' }, { contentType: null }, { eTag: 'etag' }],
        { metadata: { b: '2', a: '1' } },
      ]
      for (const same of changes) {
        const row = await store.update({ ...at, ...same })
        sameFields(row, { ...active }, `the result of ${JSON.stringify(same)}`)
      }
      same(await store.findActive(at), active, 'the active row')
    },

    'returns the row of the first call to a repeat after a lost response': async (given) => {
      const { store, clock, at } = given
      await given.activate({ metadata: METADATA })
      clock.advance(MINUTE)
      const input = { ...at, filename: 'new', metadata: { c: '3' } }
      const row = await store.update(input)
      clock.advance(MINUTE)
      same(await store.update(input), row)
    },

    'compares metadata by all names and values': async (given) => {
      const { store, clock, at } = given
      await given.activate({ metadata: METADATA })
      for (const metadata of [{ a: '2', b: '1' }, { a: '2' }, { a: '2', c: '1' }, {}, null, {}, { a: '' }]) {
        clock.advance(MINUTE)
        sameFields(
          await store.update({ ...at, metadata }),
          { metadata, updatedAt: clock.now() },
          `metadata ${JSON.stringify(metadata)}`,
        )
      }
    },

    'returns null where nothing is active': async (given) => {
      const { store, at } = given
      same(await store.update({ ...at, filename: 'a' }), null, 'update of an unknown key')
      const pending = await given.reserve()
      same(await store.update({ ...at, filename: 'a' }), null, 'update of a pending row')
      same(await store.findPending(at), pending, 'the pending row')
      await given.confirm()
      const deleted = await store.remove(at)
      same(await store.update({ ...at, filename: 'a' }), null, 'update of history')
      same(await store.find(at), deleted, 'the history')
    },

    'changes nothing of another scope': async (given) => {
      const { store, at, scope, otherScope } = given
      const active = await given.activate()
      same(await store.update({ ...at, scope: otherScope, filename: 'a' }), null)
      same(await store.findActive(at), active, 'the active row')
      sameFields(await store.update({ ...at, scope, filename: 'a' }), { filename: 'a' })
    },

    'changes only the attempt that it names, which is not the id of the object': async (given) => {
      const { store, at } = given
      const { id } = await given.activate()
      const active = await given.activate()
      const pending = await given.reserve()
      for (const attemptId of [id, pending.id, given.newId()]) {
        same(await store.update({ ...at, attemptId, filename: 'a' }), null, 'update by another attempt')
      }
      same(await store.findActive(at), active, 'the active row')
      const { attemptId } = active
      sameFields(await store.update({ ...at, attemptId, filename: 'a' }), { id, filename: 'a' })
    },

    'leaves bytes, usage and a pending replacement as they are': async (given) => {
      const { store, at, scope } = given
      await given.activate({ storageKey: 'object' })
      const pending = await given.reserve({ storageKey: 'replacement', declaredSize: 15 })
      const usage = await store.getScopeUsage(scope)
      await store.update({ ...at, filename: 'a', contentType: 'b', metadata: METADATA })
      same(await store.findPending(at), pending, 'the replacement')
      same(await store.getScopeUsage(scope), usage, 'usage')
      same(await given.leftovers(), [], 'leftovers')
    },

    'is undone by a replacement, which brings its own fields': async (given) => {
      const { store, at } = given
      await given.activate({ filename: 'first' })
      await given.reserve({ filename: 'second' })
      await store.update({ ...at, filename: 'updated', contentType: 'a', metadata: METADATA })
      sameFields(await given.confirm(), { filename: 'second', contentType: null, metadata: null })
    },

    'leaves the objects of other keys as they are': async (given) => {
      const { store, at } = given
      const others = [
        await given.activate({ key: 'another' }),
        await given.activate({ bucket: 'another bucket' }),
      ]
      await given.activate()
      await store.update({ ...at, filename: 'a' })
      for (const other of others) same(await store.find(other), other, 'a row at another key')
    },

    'stays in the history of a removed object': async (given) => {
      const { store, at } = given
      await given.activate({ filename: 'first' })
      await store.update({ ...at, filename: 'updated', metadata: METADATA })
      sameFields(await store.remove(at), { filename: 'updated', metadata: METADATA })
      sameFields(await store.find(at), { status: 'deleted', filename: 'updated', metadata: METADATA })
    },

    'stores any text and any name of metadata': async (given) => {
      const { store, at } = given
      await given.activate()
      for (const text of AWKWARD) {
        const changes = {
          filename: text,
          contentType: text,
          eTag: text,
          metadata: { [text]: text, [`$${text}`]: '$a.b' },
        }
        sameFields(
          await store.update({ ...at, ...changes }),
          changes,
          `the result for ${JSON.stringify(text)}`,
        )
        sameFields(await store.findActive(at), changes, `the active row for ${JSON.stringify(text)}`)
      }
      const names = '{"$set":"$unset","a.b":"c","__proto__":"p","":"empty","$$ROOT":"$x"}'
      const metadata = JSON.parse(names) as Record<string, string>
      sameFields(await store.update({ ...at, metadata }), { metadata })
      sameFields(await store.findActive(at), { metadata }, 'the active row')
    },

    'stores fields of the greatest length': async (given) => {
      const { store, at } = given
      await given.activate()
      const names = numbers(64).map((number) => [`name ${number}`.padEnd(128, '.'), 'é'.repeat(64)] as const)
      const changes = {
        ...{ filename: longest(1024), contentType: longest(255), eTag: longest(255) },
        metadata: Object.fromEntries(names),
      }
      sameFields(await store.update({ ...at, ...changes }), changes)
      sameFields(await store.findActive(at), changes, 'the active row')
    },

    'refuses to set nothing': async (given) => {
      const { store, at } = given
      const active = await given.activate()
      const fields = { filename: undefined, contentType: undefined, metadata: undefined, eTag: undefined }
      const nothing = { ...at, ...fields }
      for (const input of [at, { ...at, scope: given.scope }, nothing]) {
        await refusedField(() => store.update(input as unknown as typeof at & { filename: null }), 'input')
      }
      same(await store.findActive(at), active, 'the active row')
    },
  },
}
