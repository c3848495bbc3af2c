import type { StoredItem } from '../../../src/core/store/records.js'
import { holds, same } from '../assertions.js'
import type { CaseGroup, Given } from '../given.js'
import { allOf, numbers } from '../given.js'
import { IN_BYTE_ORDER } from './scopes.js'

const BUCKET = 'bucket'

/** Returns all items, by pages of this size. */
async function pagesOf({ store }: Given, limit: number, prefix?: string): Promise<StoredItem[]> {
  const all: StoredItem[] = []
  for (;;) {
    const page = await store.listStored({ bucket: BUCKET, limit, prefix, after: all.at(-1)?.storageKey })
    if (page.length === 0 || all.length > 2000) return all
    all.push(...page)
  }
}

const namesOf = (items: readonly StoredItem[]) => items.map(({ storageKey }) => storageKey)

/** Makes a reservation with each of these storage keys. */
async function storeEach(given: Given, names: readonly string[]): Promise<void> {
  await allOf(names.map((storageKey, index) => given.reserve({ key: `key ${index}`, storageKey })))
}

export const listStoredCases: CaseGroup = {
  title: 'listStored',
  cases: {
    'returns live rows and leftovers by their storage key': async (given) => {
      const { store } = given
      const active = await given.activate({ storageKey: 'b', metadata: { a: '1' } })
      const pending = await given.reserve({ key: 'another', storageKey: 'c', scope: given.otherScope })
      await given.reserve({ key: 'ended', storageKey: 'a', uploadId: 'upload' })
      await store.release({ bucket: BUCKET, key: 'ended' })
      const [leftover] = await given.leftovers()
      same(await store.listStored({ bucket: BUCKET }), [
        { storageKey: 'a', leftover },
        { storageKey: 'b', object: active },
        { storageKey: 'c', object: pending },
      ])
    },

    'leaves out the metadata if asked to': async (given) => {
      const active = await given.activate({ storageKey: 'b', metadata: { a: '1' } })
      const pending = await given.reserve({ key: 'another', storageKey: 'c', metadata: { a: '1' } })
      const byKey = await given.reserve({ key: 'd', metadata: { a: '1' } })
      const expected = [active, pending, byKey].map((row) => ({
        storageKey: row.storageKey ?? row.key,
        object: { ...row, metadata: null },
      }))
      same(await given.store.listStored({ bucket: BUCKET, withMetadata: false }), expected)
    },

    'names a row or a leftover without a storage key by its key': async (given) => {
      const { store } = given
      const active = await given.activate({ key: 'b' })
      const pending = await given.reserve({ key: 'c' })
      const stored = await given.reserve({ key: 'z', storageKey: 'a' })
      await given.reserve({ key: 'd', uploadId: 'upload' })
      await store.release({ bucket: BUCKET, key: 'd' })
      const [leftover] = await given.leftovers()
      same(await store.listStored({ bucket: BUCKET }), [
        { storageKey: 'a', object: stored },
        { storageKey: 'b', object: active },
        { storageKey: 'c', object: pending },
        { storageKey: 'd', leftover },
      ])
    },

    'returns an object and its pending replacement': async (given) => {
      const active = await given.activate({ storageKey: 'b' })
      const pending = await given.reserve({ storageKey: 'a' })
      same(await given.store.listStored({ bucket: BUCKET }), [
        { storageKey: 'a', object: pending },
        { storageKey: 'b', object: active },
      ])
    },

    'returns neither history, nor forgotten leftovers, nor other buckets': async (given) => {
      const { store } = given
      const { attemptId } = await given.history({ storageKey: 'a' })
      await given.history({ key: 'without bytes' })
      await store.forgetLeftover({ attemptId })
      await given.reserve({ bucket: 'another', storageKey: 'b' })
      await given.reserve({ bucket: 'another', key: 'ended', storageKey: 'c' })
      await store.release({ bucket: 'another', key: 'ended' })
      same(await store.listStored({ bucket: BUCKET }), [])
      same(namesOf(await store.listStored({ bucket: 'another' })), ['b', 'c'], 'names in the other bucket')
    },

    'sorts names by their bytes, on every page': async (given) => {
      await storeEach(given, IN_BYTE_ORDER.toReversed())
      for (const limit of [1, 3, 1000]) {
        same(namesOf(await pagesOf(given, limit)), IN_BYTE_ORDER, `names by pages of ${limit}`)
      }
    },

    'never splits the items of one name between two pages': async (given) => {
      const { store } = given
      for (const [index, key] of ['x', 'y', 'z'].entries()) {
        await given.reserve({ key, storageKey: 'b' })
        await given.reserve({ key: `other ${index}`, storageKey: `${index === 0 ? 'a' : 'c'} ${index}` })
      }
      await store.release({ bucket: BUCKET, key: 'y' })
      await given.reserve({ key: 'b' })
      const pages = [
        namesOf(await store.listStored({ bucket: BUCKET, limit: 1 })),
        namesOf(await store.listStored({ bucket: BUCKET, limit: 2 })),
        namesOf(await store.listStored({ bucket: BUCKET, limit: 1, after: 'a 0' })),
        namesOf(await store.listStored({ bucket: BUCKET, limit: 4, after: 'a 0' })),
        namesOf(await store.listStored({ bucket: BUCKET, limit: 5, after: 'a 0' })),
      ]
      const all = ['b', 'b', 'b', 'b']
      same(pages, [['a 0'], ['a 0', ...all], all, all, [...all, 'c 1']], 'names by page')
      const [shared, attempts] = [await pagesOf(given, 1), new Set<string>()]
      for (const { object, leftover } of shared) attempts.add(object?.attemptId ?? leftover!.attemptId)
      same(attempts.size, 7, 'different items')
    },

    'starts after a name that need not exist': async (given) => {
      const { store } = given
      await storeEach(given, ['a', 'b', 'bb', 'c'])
      const after = async (name: string) => namesOf(await store.listStored({ bucket: BUCKET, after: name }))
      same(await after('b'), ['bb', 'c'], 'names after b')
      same(await after('ba'), ['bb', 'c'], 'names after ba')
      same(await after('\u{10ffff}'), [], 'names after the last')
      same(await after('z'.repeat(1024)), [], 'names after a long one')
    },

    'matches a prefix byte for byte': async (given) => {
      const { store } = given
      const names = [
        'a',
        'a%',
        'a%b',
        'a_',
        'ab',
        'A%',
        'a\\',
        'a\\%',
        'a.b',
        'a*',
        '\u00e9',
        'e\u0301',
        'a$',
      ]
      await storeEach(given, names)
      for (const prefix of [...names, 'e', 'a%b ', 'b', '.', '^a']) {
        const found = namesOf(await store.listStored({ bucket: BUCKET, prefix }))
        const expected = names.filter((name) => name.startsWith(prefix))
        same(found.sort(), expected.sort(), `names with the prefix ${JSON.stringify(prefix)}`)
      }
    },

    'matches prefixes at the end of every plane': async (given) => {
      const ends = ['a\ud7ff', 'a\uffff', 'a\u{1ffff}', 'a\u{10ffff}', '\u{10ffff}', '\u{10ffff}\u{10ffff}']
      const names = ends.flatMap((end) => [end, `${end}b`, `${end}\u{10ffff}b`])
      await storeEach(given, [...names, 'a', 'b', '\u00ff', '\u{10fffe}'])
      for (const prefix of ends) {
        const found = namesOf(await pagesOf(given, 2, prefix))
        const expected = names.filter((name) => name.startsWith(prefix))
        same(found.toSorted(), expected.sort(), `names with the prefix ${JSON.stringify(prefix)}`)
      }
    },

    'combines prefix and position': async (given) => {
      const { store } = given
      await storeEach(given, ['a', 'b/1', 'b/2', 'b/3', 'c'])
      const prefix = 'b/'
      const after = async (name: string) =>
        namesOf(await store.listStored({ bucket: BUCKET, prefix, after: name, limit: 2 }))
      same(await after('a'), ['b/1', 'b/2'], 'names after a')
      same(await after('b/1'), ['b/2', 'b/3'], 'names after b/1')
      same(await after('b/3'), [], 'names after b/3')
      same(await after('c'), [], 'names after c')
      same(await after('0'), ['b/1', 'b/2'], 'names after 0')
    },

    'takes names of the greatest length': async (given) => {
      const { store } = given
      const long = 'é'.repeat(511)
      const names = [`${long}aa`, `${long}ab`, `${long}é`]
      await storeEach(given, names)
      same(namesOf(await pagesOf(given, 1)), names, 'names')
      const [prefix, , last] = names
      same(namesOf(await store.listStored({ bucket: BUCKET, prefix })), [prefix], 'names with a long prefix')
      same(await store.listStored({ bucket: BUCKET, after: last }), [], 'items after the last')
    },

    'returns 100 items by default': async (given) => {
      const names = numbers(101).map((number) => `name ${String(number).padStart(3, '0')}`)
      await storeEach(given, names)
      const found = await given.store.listStored({ bucket: BUCKET })
      same(namesOf(found), names.slice(0, 100), 'names')
      holds((await given.store.listStored({ bucket: BUCKET, limit: 1000 })).length === 101, 'a limit of 1000')
    },
  },
}
