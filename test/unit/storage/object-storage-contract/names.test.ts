import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bucketService, forEachConcurrently, HELLO } from './bucket-service.js'
import { storages } from './storages.js'
import { anyText } from './any-text.js'

/** Distinct names that file systems may normalize, forbid, or confuse. */
const names = [
  ...['.', '..', '/', '//', '../..', '../../../../outside', '/outside', 'a/../b', 'b', 'a/./b', 'a/b'],
  ...['a//b', 'a\\b', '..\\..\\outside', 'C:\\outside', 'C:', 'a:b', 'a|b', 'a?b', 'a*b', '<a>', '~'],
  ...['$HOME', '%2e%2e', 'CON', 'con', 'NUL', 'nul.txt', 'COM1', 'LPT1.', 'AUX', 'aux ', 'trailing.'],
  ...['trailing', 'trailing ', 'A/B', 'a/B', 'Straße', 'STRASSE', '\u00e9', 'e\u0301', '\u0130', '\u0131'],
  ...['i', 'objects', 'drafts', 'signing-secret', '../signing-secret', '__proto__', 'constructor'],
  ...['toString', '\u0001', '\n', '\r\n', '\t', ' ', '"', '\\', "'", '","', '\u2028', '\u007f', '\ufeff'],
  ...['\ufffd', '\uffff', '\u{1fffd}', '\u{10fffd}', 'x'.repeat(255), 'x'.repeat(256), 'x'.repeat(1024)],
  ...['\u{1f600}'.repeat(256), '\u0001'.repeat(1024), `${'x'.repeat(1023)}y`, `${'/'.repeat(1024)}`],
  `${'../'.repeat(341)}x`,
]
const bucketNames = [...new Set(names)].filter((name) => [...name].length <= 255)

describe.each(storages)('the names in $name', (kind) => {
  it('are all accepted and kept separate', async () => {
    const service = bucketService(kind)
    const locations = [
      ...[...new Set(names)].map((key) => ({ bucket: 'files', key })),
      ...bucketNames.map((bucket) => ({ bucket, key: 'a' })),
    ]
    const contentOf = (at: number) => `${at}`.padStart(5, '0')
    await forEachConcurrently(locations, async (location, at) => {
      expect((await service.put({ ...service.upload, ...location }, contentOf(at))).status).toBe(200)
    })
    await forEachConcurrently(locations, async (location, at) => {
      expect(await (await service.get({ ...service.download, ...location })).text()).toBe(contentOf(at))
    })
    await forEachConcurrently(locations, async (location, at) => {
      if (at % 2 === 0) await service.storage.remove(location)
    })
    await forEachConcurrently(locations, async (location, at) => {
      expect((await service.storage.head(location)) === null).toBe(at % 2 === 0)
    })
  })

  it('have an unambiguous boundary between bucket and key', async () => {
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

  it('can be any strings that a record can contain', async () => {
    const service = bucketService(kind)
    const name = anyText(255).filter((text) => !text.includes('\0'))
    const used = new Set<string>()
    await fc.assert(
      fc.asyncProperty(name, name, async (bucket, key) => {
        const location = JSON.stringify([bucket, key])
        fc.pre(!used.has(location) && new TextEncoder().encode(key).byteLength <= 1024)
        used.add(location)
        expect(await service.storage.head({ bucket, key })).toBeNull()
        expect((await service.put({ ...service.upload, bucket, key }, HELLO)).status).toBe(200)
        expect(await service.storage.head({ bucket, key })).toMatchObject({ size: 5 })
      }),
      { numRuns: 20 },
    )
  })
})
