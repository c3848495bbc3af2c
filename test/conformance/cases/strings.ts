import { refused, refusedField, same, sameFields } from '../assertions.js'
import { AWKWARD, longest } from '../properties/texts.js'
import type { CaseGroup } from '../given.js'
import { allOf, idsOf, numbers } from '../given.js'

/** Different strings that a store might treat as equal, by trimming, folding, normalizing or pattern matching. */
const LOOK_ALIKES = [
  'name',
  'Name',
  'NAME',
  ' name',
  'name ',
  'name\n',
  'name\t',
  'name\u00a0',
  'name\u200b',
  '\ufeffname',
  'name%',
  'nam_',
  'name\\',
  'nam\u00e9',
  'name\u0301',
  'na\ufb02',
  'nafl',
  '\uff4e\uff41\uff4d\uff45',
  'name\u{1f600}',
  'name\u{1f601}',
]

/** Text that a store might take for a value of another type, and write in another way. */
const VALUE_LIKE = [
  '1.0',
  '007',
  '-0',
  '+1',
  '1e3',
  '0x10',
  '12345678901234567890',
  'true',
  'NULL',
  '2026-01-01',
]

const ANY_METADATA = [
  '{"$set":"$unset","a.b":"c.d","__proto__":"polluted","":"empty name","constructor":"c","toString":""}',
  '{"0":"zero","-1":"minus","01":"one","a":"","b.":".","$":"$","\\u0001":"\\u0001","\\ud83d\\ude00":"e\\u0301"}',
  '{"name":"a","Name":"b"," name":"c","name ":"d","\\u00e9":"e","e\\u0301":"f"}',
  '{}',
]

export const stringCases: CaseGroup = {
  title: 'strings',
  cases: {
    'are returned unchanged from every field': async (given) => {
      const { store } = given
      const all = [...AWKWARD, ...LOOK_ALIKES]
      await allOf(
        all.map(async (text, index) => {
          const at = { bucket: text, key: `${index} ${text}` }
          const fields = {
            scope: text,
            route: text,
            filename: text,
            contentType: text,
            metadata: { [text]: text },
          }
          const pending = await given.reserve({ ...at, ...fields, storageKey: text, uploadId: text })
          sameFields(await store.findPending({ ...at, uploadId: text }), {
            ...at,
            ...fields,
            storageKey: text,
            uploadId: text,
          })
          await store.confirm({ ...at, id: pending.id, scope: text, size: 1, eTag: text })
          sameFields(await store.findActive(at), { ...at, ...fields, storageKey: text, eTag: text })
          await store.remove({ ...at, scope: text })
          sameFields(await store.find(at), {
            ...at,
            ...fields,
            storageKey: text,
            eTag: text,
            status: 'deleted',
          })
        }),
      )
      const leftovers = await given.leftovers()
      const keys = leftovers.map(({ bucket, key, storageKey }) => [bucket, key, storageKey]).sort()
      same(
        keys,
        all.map((text, index) => [text, `${index} ${text}`, text]).sort(),
        'bucket, key and storage key',
      )
    },

    'are returned unchanged if they look like numbers, dates or other values': async (given) => {
      for (const [index, text] of VALUE_LIKE.entries()) {
        const at = { bucket: 'bucket', key: `key ${index}` }
        const fields = { route: text, filename: text, contentType: text, metadata: { [text]: text } }
        await given.activate({ ...at, ...fields, storageKey: text }, { eTag: text })
        sameFields(await given.store.find(at), { ...fields, storageKey: text, eTag: text })
      }
    },

    'are returned unchanged with every kind of character': async (given) => {
      const { store } = given
      // One character of every 4096 code points, without surrogates.
      const everything = numbers(0x110)
        .map((row) => row * 0x1000 + 0x21)
        .filter((code) => code < 0xd800 || code > 0xdfff)
        .map((code) => String.fromCodePoint(code))
        .join('')
      const controls = numbers(0x20)
        .slice(1)
        .map((code) => String.fromCharCode(code, code + 0x7f))
      for (const [index, filename] of [everything, controls.join('')].entries()) {
        const at = { bucket: 'bucket', key: `key ${index}` }
        await given.reserve({ ...at, filename, metadata: { [filename]: filename } })
        sameFields(await store.find(at), { filename, metadata: { [filename]: filename } })
      }
    },

    'are compared byte for byte as keys': async (given) => {
      const { store } = given
      for (const key of LOOK_ALIKES) await given.reserve({ key, filename: key })
      for (const key of LOOK_ALIKES)
        sameFields(await store.find({ bucket: 'bucket', key }), { key, filename: key })
      same(await store.countByScope(given.scope), LOOK_ALIKES.length, 'rows of the scope')
    },

    'are compared byte for byte as buckets': async (given) => {
      const { store } = given
      for (const bucket of LOOK_ALIKES) await given.reserve({ bucket, filename: bucket })
      for (const bucket of LOOK_ALIKES) {
        sameFields(await store.find({ bucket, key: 'key' }), { bucket, filename: bucket })
      }
    },

    'are compared byte for byte as scopes': async (given) => {
      const { store } = given
      const rows = await given.reserveEach(LOOK_ALIKES.map((scope, size) => ({ scope, declaredSize: size })))
      for (const [index, scope] of LOOK_ALIKES.entries()) {
        same((await store.listByScope({ scope })).objects, [rows[index]], 'the rows of the scope')
        same(await store.countByScope(scope), 1, 'number of rows')
        sameFields(await store.getScopeUsage(scope), { reservedBytes: index })
        const foreign = LOOK_ALIKES[(index + 1) % LOOK_ALIKES.length]!
        same(await store.release({ ...rows[index]!, scope: foreign }), null, 'release by a similar scope')
      }
    },

    'are compared byte for byte as routes, uploads and eTags': async (given) => {
      const { store, scope } = given
      const rows = await given.reserveEach(LOOK_ALIKES.map((text) => ({ route: text, uploadId: text })))
      for (const [index, text] of LOOK_ALIKES.entries()) {
        const at = { bucket: 'bucket', key: `key ${index}` }
        const foreign = LOOK_ALIKES[(index + 1) % LOOK_ALIKES.length]!
        same((await store.listByScope({ scope, route: text })).objects, [rows[index]], 'rows of the route')
        same(await store.findPending({ ...at, uploadId: foreign }), null, 'the row for a similar upload id')
        await store.confirm({ ...at, size: 1, eTag: text })
        await refused(() => store.confirm({ ...at, size: 1, eTag: foreign }), 'OBJECT_NOT_FOUND')
      }
    },

    'may have their maximum length, in characters or in bytes': async (given) => {
      const { store } = given
      const input = {
        scope: longest(255),
        bucket: longest(255),
        key: longest(256),
        storageKey: longest(256),
        route: longest(255),
        contentType: longest(255),
        filename: longest(1024),
        uploadId: longest(1024),
      }
      const pending = await given.reserve(input)
      sameFields(pending, input)
      same(await store.find(input), pending, 'the result of find')
      same(
        (await store.listByScope({ scope: input.scope, route: input.route })).objects,
        [pending],
        'the list',
      )
      const active = await store.confirm({
        bucket: input.bucket,
        key: input.key,
        size: 1,
        eTag: longest(255),
      })
      same(active.eTag, longest(255), 'eTag')
      await given.reserve({ ...input, storageKey: 'a'.repeat(1024) })
      await store.remove({ bucket: active.bucket, key: active.key })
      same((await given.leftovers()).length, 2, 'number of leftovers')
      same(
        (await store.listByScope({ scope: input.scope, status: 'deleted' })).objects.length,
        1,
        'rows of history',
      )
    },

    'are measured in characters or bytes, not in UTF-16 units': async (given) => {
      for (const [key, filename] of [
        ['k'.repeat(1024), 'f'.repeat(1024)],
        ['é'.repeat(512), 'é'.repeat(1024)],
      ] as const) {
        sameFields(await given.reserve({ key, filename }), { key, filename })
        sameFields(await given.store.find({ bucket: 'bucket', key }), { key, filename })
      }
      await refusedField(() => given.reserve({ key: 'é'.repeat(512) + 'k' }), 'key')
      await refusedField(() => given.reserve({ key: '\u{10000}'.repeat(257) }), 'key')
      await refusedField(() => given.reserve({ route: '\u{10000}'.repeat(256) }), 'route')
    },
  },
}

export const metadataCases: CaseGroup = {
  title: 'metadata',
  cases: {
    'is returned unchanged, even with names that have a special meaning elsewhere': async (given) => {
      const { store } = given
      for (const [index, json] of ANY_METADATA.entries()) {
        const at = { bucket: 'bucket', key: `key ${index}` }
        // Unlike a literal, JSON.parse makes `__proto__` an own property.
        const metadata = JSON.parse(json) as Record<string, string>
        same((await given.reserve({ ...at, metadata })).metadata, metadata, 'metadata of the pending row')
        same((await store.confirm({ ...at, size: 1 })).metadata, metadata, 'metadata of the active row')
        same((await store.find(at))?.metadata, metadata, 'metadata of the found row')
        await given.activate({ ...at, metadata })
        await store.remove(at)
        same((await store.find(at))?.metadata, metadata, 'metadata of the history')
      }
    },

    'is null if absent, and empty if empty': async (given) => {
      const [none, empty] = await given.reserveEach([{ metadata: null }, { metadata: {} }])
      same([none!.metadata, empty!.metadata], [null, {}])
    },

    'accepts 64 entries and 16 KiB of UTF-8': async (given) => {
      const { store } = given
      const entries = numbers(64).map((index): [string, string] => [`name ${index}`, `value ${index}`])
      const many = Object.fromEntries(entries)
      const large = { ['é'.repeat(4096)]: 'é'.repeat(4096) }
      const empty = { '': 'x'.repeat(16 * 1024) }
      for (const [index, metadata] of [many, large, empty].entries()) {
        await given.reserve({ key: `key ${index}`, metadata })
        same((await store.find({ bucket: 'bucket', key: `key ${index}` }))?.metadata, metadata, 'metadata')
      }
      await refusedField(() => given.reserve({ metadata: { ...many, more: '' } }), 'metadata')
      await refusedField(() => given.reserve({ metadata: { ...large, a: '' } }), 'metadata')
      await refusedField(() => given.reserve({ metadata: { a: 'x'.repeat(16 * 1024) } }), 'metadata')
    },

    'is replaced as a whole, without merging entries': async (given) => {
      await given.activate({ metadata: { a: '1', b: '2' } })
      for (const metadata of [{ b: '3' }, null]) {
        same((await given.activate({ metadata })).metadata, metadata, 'metadata of the replacement')
        same((await given.store.find(given.at))?.metadata, metadata, 'metadata of the found row')
      }
    },

    "doesn't affect other fields": async (given) => {
      const rows = await given.reserveEach([{ metadata: { id: 'fake', scope: given.otherScope } }])
      same(idsOf((await given.store.listByScope({ scope: given.scope })).objects), idsOf(rows), 'ids')
      same(await given.store.countByScope(given.otherScope), 0, 'rows of the other scope')
    },
  },
}
