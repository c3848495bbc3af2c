import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bucketService, HELLO } from './bucket-service.js'
import { storages } from './storages.js'

/** Each is a name of its own, whatever a file system would make of it. */
const names = [
  ...[
    '.',
    '..',
    '/',
    '//',
    '../..',
    '../../../../outside',
    '/outside',
    'a/../b',
    'b',
    'a/./b',
    'a/b',
    'a//b',
  ],
  ...[
    'a\\b',
    '..\\..\\outside',
    'C:\\outside',
    'C:',
    'a:b',
    'a|b',
    'a?b',
    'a*b',
    '<a>',
    '~',
    '$HOME',
    '%2e%2e',
  ],
  ...['CON', 'con', 'NUL', 'nul.txt', 'COM1', 'LPT1.', 'AUX', 'aux ', 'trailing.', 'trailing', 'trailing '],
  ...['A/B', 'a/B', 'Straße', 'STRASSE', '\u00e9', 'e\u0301', '\u0130', '\u0131', 'i'],
  ...['objects', 'drafts', 'signing-secret', '../signing-secret', '__proto__', 'constructor', 'toString'],
  ...[
    '\u0001',
    '\n',
    '\r\n',
    '\t',
    ' ',
    '"',
    '\\',
    "'",
    '","',
    '\u2028',
    '\u007f',
    '\ufeff',
    '\ufffd',
    '\uffff',
  ],
  ...Array.from({ length: 17 }, (_, plane) => String.fromCodePoint(plane * 0x10000 + 0xfffd)),
  ...['x'.repeat(255), 'x'.repeat(256), 'x'.repeat(1024), '\u{1f600}'.repeat(256), '\u0001'.repeat(1024)],
  ...[`${'x'.repeat(1023)}y`, `${'/'.repeat(1024)}`, `${'../'.repeat(341)}x`],
]
const bucketNames = [...new Set(names)].filter((name) => [...name].length <= 255)

describe.each(storages)('the names in $name', (kind) => {
  it('are all taken, and all kept apart', async () => {
    const service = bucketService(kind)
    const places = [
      ...[...new Set(names)].map((key) => ({ bucket: 'files', key })),
      ...bucketNames.map((bucket) => ({ bucket, key: 'a' })),
    ]
    const contentOf = (at: number) => `${at}`.padStart(5, '0')
    for (const [at, place] of places.entries()) {
      expect((await service.put({ ...service.upload, ...place }, contentOf(at))).status).toBe(200)
    }
    for (const [at, place] of places.entries()) {
      expect(await (await service.get({ ...service.download, ...place })).text()).toBe(contentOf(at))
    }
    for (const [at, place] of places.entries()) {
      if (at % 2 === 0) await service.storage.remove(place)
    }
    for (const [at, place] of places.entries()) {
      expect((await service.storage.head(place)) === null).toBe(at % 2 === 0)
    }
  })

  it('begin and end where they were reported to', async () => {
    const service = bucketService(kind)
    await service.put({ ...service.upload, bucket: 'a","b', key: 'c' }, HELLO)
    for (const [bucket, key] of [
      ['a', 'b","c'],
      ['a"', '"b","c'],
      ['a","b","c', ''],
    ] as const) {
      expect(await service.storage.head({ bucket, key })).toBeNull()
    }
  })

  it('are any strings that a record can have', async () => {
    const service = bucketService(kind)
    const name = fc
      .string({ unit: 'binary', minLength: 1, maxLength: 255 })
      .filter((text) => !text.includes('\0'))
    const used = new Set<string>()
    await fc.assert(
      fc.asyncProperty(name, name, async (bucket, key) => {
        const place = JSON.stringify([bucket, key])
        fc.pre(!used.has(place) && new TextEncoder().encode(key).byteLength <= 1024)
        used.add(place)
        expect(await service.storage.head({ bucket, key })).toBeNull()
        expect((await service.put({ ...service.upload, bucket, key }, HELLO)).status).toBe(200)
        expect(await service.storage.head({ bucket, key })).toMatchObject({ size: 5 })
      }),
      { numRuns: 50 },
    )
  })
})
