import {
  cleanUp,
  deliverEvents,
  importObjects,
  memoryStorage,
  StorageError,
  type ImportedItem,
  type ImportSelection,
  type JobProgress,
  type ObjectStorage,
  type SelectImport,
} from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { describe, expect, it, vi } from 'vitest'
import { HOUR, ManualClock } from '../../../conformance/clock.js'
import { around, BUCKET, bytesOfSize, startService } from '../service.js'
import { until } from '../events/changed-objects.js'
import { ownerFromKey, serviceOverBucket, store } from './bucket.js'
import { generatedBucket } from './generated-bucket.js'

const KEYS = ['users/1/a.txt', 'users/1/b.txt', 'users/2/a.txt']

describe('importObjects', () => {
  it('records each item with its owner, size, eTag and age', async () => {
    const { run, objects, storage, clock } = await serviceOverBucket([])
    await store(storage, 'users/1/old.txt', 'four')
    const written = clock.now()
    clock.advance(HOUR)
    const eTag = (await storage.head({ bucket: BUCKET, key: 'users/1/old.txt' }))!.eTag
    expect(await run()).toEqual({
      ...{ imported: 1, known: 0, differs: 0, skipped: 0, failed: [] },
      after: 'users/1/old.txt',
    })
    expect(await objects.find({ bucket: BUCKET, key: 'users/1/old.txt' })).toMatchObject({
      scope: 'user:1',
      status: 'active',
      storageKey: 'users/1/old.txt',
      size: 4,
      eTag,
      createdAt: written,
      confirmedAt: clock.now(),
      route: null,
      filename: null,
      contentType: null,
      metadata: null,
    })
    expect(await objects.getScopeUsage('user:1')).toMatchObject({ bytes: 4, files: 1 })
  })

  it('records what select returns, also from a promise', async () => {
    const { run, objects } = await serviceOverBucket(['old/x'])
    const selection: ImportSelection = {
      scope: 'team:1',
      key: 'new/x',
      route: 'photos',
      filename: 'ü.png',
      contentType: 'image/png',
      metadata: { from: 'old' },
      createdAt: new Date('2015-06-07T08:09:10.011Z'),
    }
    expect(await run({ select: async () => selection })).toMatchObject({ imported: 1, after: 'old/x' })
    expect(await objects.find({ bucket: BUCKET, key: 'new/x' })).toMatchObject({
      ...selection,
      storageKey: 'old/x',
    })
  })

  it('takes an empty text for none, and repairs a media type', async () => {
    const { run, objects } = await serviceOverBucket(['a', 'b'])
    const select: SelectImport = ({ key }) =>
      key === 'a'
        ? { scope: 'user:1', route: '', filename: '', contentType: '' }
        : { scope: 'user:1', contentType: 'video/webm;codecs=vp8,opus' }
    expect(await run({ select })).toMatchObject({ imported: 2, failed: [] })
    const found = (key: string) => objects.find({ bucket: BUCKET, key })
    expect(await found('a')).toMatchObject({ route: null, filename: null, contentType: null })
    expect(await found('b')).toMatchObject({ contentType: 'video/webm;codecs="vp8,opus"' })
    expect(await run({ select })).toMatchObject({ known: 2, differs: 0, failed: [] })
  })

  it.each(['.', '..', 'a/../b', './a', 'a/.'])(
    'fails the key %j, which no URL can contain, also once it is known',
    async (key) => {
      const { run, objects } = await serviceOverBucket([key, 'a/..b', '.hidden'])
      const select = () => ({ scope: 'user:1' })
      const message =
        `key must not have a "." or ".." segment (got "${key}"). ` +
        'Such keys get no URL, because browsers would request another path.'
      const failed = [{ key, error: { code: 'VALIDATION_ERROR', params: { field: 'key' }, message } }]
      for (const dryRun of [true, false]) {
        expect(await run({ select, dryRun })).toMatchObject({ imported: 2, failed })
      }
      await objects.adopt({
        scope: 'x',
        bucket: BUCKET,
        key,
        storageKey: key,
        size: 1,
        createdAt: new Date(0),
      })
      expect(await run({ select })).toMatchObject({ known: 2, failed })
    },
  )

  it('counts items that are recorded with other values than select returns, and changes none', async () => {
    const { run, objects } = await serviceOverBucket(['a', 'b'])
    const createdAt = new Date(0)
    const first: ImportSelection = {
      ...{ scope: 'user:1', route: 'docs', filename: 'a', contentType: 'text/plain', createdAt },
      metadata: { from: 'old', by: 'x' },
    }
    const only = (selection: ImportSelection) => ({
      select: ({ key }: ImportedItem) => (key === 'a' ? selection : null),
    })
    await run(only(first))
    const recorded = await objects.find({ bucket: BUCKET, key: 'a' })
    const equal: readonly ImportSelection[] = [
      first,
      { scope: 'user:1' },
      { ...first, metadata: { by: 'x', from: 'old' }, key: null, filename: '', contentType: null },
    ]
    for (const selection of equal) {
      expect(await run(only(selection))).toMatchObject({ known: 1, differs: 0 })
    }
    const others: readonly Partial<ImportSelection>[] = [
      { scope: 'user:2' },
      { key: 'b' },
      { route: 'photos' },
      { filename: 'A' },
      { contentType: 'text/html' },
      { metadata: { from: 'old' } },
      { createdAt: new Date(1) },
    ]
    for (const other of others) {
      for (const dryRun of [true, false]) {
        const result = await run({ ...only({ ...first, ...other }), dryRun })
        expect(result).toMatchObject({ imported: 0, known: 1, differs: 1, failed: [] })
      }
    }
    expect(await objects.find({ bucket: BUCKET, key: 'a' })).toEqual(recorded)
  })

  it('shows select what the bucket lists', async () => {
    const { run, storage } = await serviceOverBucket(['a'])
    const select = vi.fn(() => null)
    await run({ select })
    const { items } = await storage.list!({ bucket: BUCKET, limit: 1 })
    expect(select.mock.calls).toEqual([[{ bucket: BUCKET, ...items[0] }]])
  })

  it('skips, fails, and goes on', async () => {
    const { run, objects, reportedBy } = await serviceOverBucket(['a', 'b', 'c', 'd', 'e'])
    const thrown = new Error('no owner')
    const result = await run({
      select: ({ key }) => {
        if (key === 'b') throw thrown
        return key === 'd' ? null : { scope: 'user:1', key: key === 'e' ? 'a' : key }
      },
      concurrency: 1,
    })
    expect(result).toEqual({
      imported: 2,
      known: 0,
      differs: 0,
      skipped: 1,
      failed: [
        { bucket: BUCKET, key: 'b', error: thrown },
        { bucket: BUCKET, key: 'e', error: expect.objectContaining({ code: 'KEY_CONFLICT' }) as Error },
      ],
      after: 'e',
    })
    expect(await reportedBy('importObjects')).toEqual(result.failed.map(({ error }) => error))
    expect(await objects.getScopeUsage('user:1')).toMatchObject({ files: 2 })
  })

  const NO_SCOPE = 'importObjects: select must return an object with a scope, or null to skip the item'
  it.each([
    [undefined, `${NO_SCOPE} (got undefined).`],
    ['user:1', `${NO_SCOPE} (got "user:1").`],
    [[], `${NO_SCOPE} (got an array).`],
    [{}, 'scope must be a string of 1 to 255 characters (got undefined).'],
    [{ scope: 'a', key: '' }, 'key must be a string of 1 to 1024 bytes of UTF-8 (got an empty string).'],
    [{ scope: 'a', contentType: 5 }, 'contentType must be a string of 1 to 255 characters (got 5).'],
    [
      { scope: 'a', contentType: 'jpeg' },
      'contentType must be a media type such as "image/png" or "text/plain; charset=utf-8" (got "jpeg").',
    ],
    [{ scope: 'a', createdAt: '2019-03-01' }, 'createdAt must be a Date (got "2019-03-01").'],
    [
      { scope: 'a', fileName: 'x' },
      'importObjects: select returned the unknown field "fileName". Did you mean "filename"?',
    ],
  ])('fails an item for which select returns %j', async (selection, message) => {
    for (const dryRun of [true, false]) {
      const { run } = await serviceOverBucket(['a'])
      const { failed, ...rest } = await run({ dryRun, select: () => selection as never })
      expect(failed.map(({ error }) => (error as Error).message)).toEqual([message])
      expect(rest).toEqual({ imported: 0, known: 0, differs: 0, skipped: 0, after: 'a' })
    }
  })

  it('knows what an object, an upload or a leftover names already', async () => {
    const { run, as, s3, objects, clock } = await serviceOverBucket(KEYS)
    await run({ prefix: 'users/1/' })
    await as('user:3').upload()
    const begun = await as('user:3').begun()
    await as('user:3').put(begun.upload, bytesOfSize(3))
    const deleted = await as('user:3').upload()
    await objects.remove({ bucket: BUCKET, key: deleted.key })
    const calls = vi.spyOn(objects, 'adopt')
    const select = () => ({ scope: 'user:9' })
    expect(await run({ select })).toMatchObject({ imported: 1, known: 5, failed: [] })
    // Only what was new has cost a call of its own.
    expect(calls).toHaveBeenCalledTimes(1)
    expect(await run({ select })).toMatchObject({ imported: 0, known: 6, failed: [] })
    clock.advance(24 * HOUR)
    await cleanUp(s3)
    expect(await run({ select })).toMatchObject({ imported: 0, known: 5, failed: [] })
  })

  it('completes a row of the same owner and key that names no bytes', async () => {
    const { run, objects } = await serviceOverBucket(['users/1/a', 'users/2/a'])
    for (const [scope, key] of [
      ['user:1', 'users/1/a'],
      ['user:7', 'users/2/a'],
    ] as const) {
      const { id } = await objects.reserve({
        scope,
        bucket: BUCKET,
        key,
        declaredSize: 9,
        expiresAt: new Date(HOUR * 1e6),
      })
      await objects.confirm({ bucket: BUCKET, key, id, size: 9, scope })
    }
    // The owner of the other object is not the one that `select` returns, and the completed row keeps its name.
    const select: SelectImport = (item) => ({ ...ownerFromKey(item)!, filename: 'a.txt' })
    expect(await run({ select, dryRun: true })).toMatchObject({ imported: 1, known: 1, differs: 2 })
    expect(await run({ select })).toMatchObject({ imported: 1, known: 1, differs: 2 })
    expect(await objects.find({ bucket: BUCKET, key: 'users/1/a' })).toMatchObject({
      storageKey: 'users/1/a',
    })
    expect(await objects.find({ bucket: BUCKET, key: 'users/2/a' })).toMatchObject({ storageKey: null })
  })

  it('goes on after a key, within a prefix, and in another bucket', async () => {
    const { run, storage, objects } = await serviceOverBucket([...KEYS, 'x'])
    expect(await run({ after: 'users/1/a.txt', prefix: 'users/1' })).toMatchObject({
      imported: 1,
      after: 'users/1/b.txt',
    })
    expect(await run({ after: 'users/1/b.txt' })).toMatchObject({ imported: 1, skipped: 1, after: 'x' })
    expect(await run({ after: 'x' })).toEqual({
      ...{ imported: 0, known: 0, differs: 0, skipped: 0, failed: [] },
      after: 'x',
    })
    expect(await run({ prefix: 'none' })).toMatchObject({ imported: 0, after: null })
    const at = { bucket: 'attic', contentType: 'text/plain', attemptId: 'a' }
    await storage.write!({ ...at, key: 'users/5/a', body: new Uint8Array(1) })
    expect(await run({ bucket: 'attic' })).toMatchObject({ imported: 1, after: 'users/5/a' })
    expect(await objects.find({ bucket: 'attic', key: 'users/5/a' })).toMatchObject({ scope: 'user:5' })
  })

  it('changes nothing in a dry run, and reports what a run would do', async () => {
    const { run, objects, as, clock } = await serviceOverBucket([...KEYS, 'x'])
    await run({ prefix: 'users/1/a' })
    const taken = await as('user:3').begun()
    const write = vi.spyOn(objects, 'adopt')
    const select = ({ key }: { readonly key: string }) => {
      const selection = ownerFromKey({ key })
      return key === 'users/2/a.txt' ? { ...selection!, key: taken.object.key } : selection
    }
    const options = { select, prefix: 'users/' }
    const dry = await run({ ...options, dryRun: true })
    expect(write).not.toHaveBeenCalled()
    expect(dry).toMatchObject({ imported: 1, known: 1, skipped: 0, after: 'users/2/a.txt' })
    expect(dry.failed).toMatchObject([{ key: 'users/2/a.txt', error: { code: 'KEY_CONFLICT' } }])
    expect(await run(options)).toEqual(dry)
    clock.advance(24 * HOUR)
    expect(await run({ ...options, dryRun: true })).toMatchObject({ imported: 1, known: 2, failed: [] })
    expect(await run(options)).toMatchObject({ imported: 1, known: 2, failed: [] })
  })

  it('calls no hooks, and delivers recorded events', async () => {
    const clock = new ManualClock()
    const onActivated = vi.fn()
    const delivered: string[] = []
    const { run, s3 } = await serviceOverBucket(KEYS, {
      clock,
      objects: memoryAdapter({ now: clock.now, events: true }),
      hooks: { onActivated },
      onEvent: async ({ type, object }) => void delivered.push(`${type} ${object.key}`),
    })
    await run()
    await until(() => delivered.length === 3)
    expect(delivered.sort()).toEqual(KEYS.map((key) => `activated ${key}`))
    await run()
    expect(await deliverEvents(s3)).toEqual({ delivered: 0, failed: [] })
    expect(onActivated).not.toHaveBeenCalled()
  })

  it('shows its progress and where to go on', async () => {
    const { run, reportedBy } = await serviceOverBucket(KEYS)
    const shown: JobProgress[] = []
    await run({ concurrency: 1, onProgress: (progress) => shown.push(progress) })
    expect(shown).toEqual(KEYS.map((after, index) => ({ done: index + 1, after })))
    const counted: number[] = []
    await run({ concurrency: 3, onProgress: ({ done }) => counted.push(done) })
    expect(counted).toEqual([1, 2, 3])
    const failure = new Error('no terminal')
    await run({
      onProgress() {
        throw failure
      },
    })
    expect(await reportedBy('importObjects')).toEqual([failure])
  })

  it('ends if the database is unavailable, once running work is done', async () => {
    const { run, objects } = await serviceOverBucket(['a', 'b', 'c', 'd', 'e'])
    const failure = new Error('gone')
    let calls = 0
    around(objects, 'adopt', (adopt) => async (input) => {
      if (++calls > 2) throw new StorageError('DATABASE_UNAVAILABLE', { cause: failure })
      return adopt(input)
    })
    const select = () => ({ scope: 'user:1' })
    let last: JobProgress | null = null
    const onProgress = (progress: JobProgress) => void (last = progress)
    await expect(run({ select, onProgress, concurrency: 2 })).rejects.toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
      cause: failure,
    })
    expect(last).toEqual({ done: 2, after: 'b' })
    expect(calls).toBeLessThanOrEqual(4)
  })

  it('fails an item whose select finds a database unavailable', async () => {
    const { run } = await serviceOverBucket(['a', 'b'])
    const select = () => {
      throw new StorageError('DATABASE_UNAVAILABLE')
    }
    expect((await run({ select })).failed).toHaveLength(2)
  })

  it('rejects if the bucket or the known names can not be listed', async () => {
    const { run, objects } = await serviceOverBucket(['a'], {
      storage: (memory) => ({
        ...memory,
        list: async (input) => {
          if (input.bucket === 'missing') throw new Error('no such bucket')
          return memory.list!(input)
        },
      }),
    })
    await expect(run({ bucket: 'missing' })).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
    const failure = new Error('gone')
    around(objects, 'listStored', () => () => Promise.reject(failure))
    await expect(run()).rejects.toBe(failure)
  })

  it('does what it has listed before it rejects', async () => {
    const bucket = generatedBucket(3000)
    const { s3, objects } = startService({
      storage: () => ({
        ...bucket.storage,
        list: async (input) => {
          if (bucket.listing.calls === 2) throw new Error('gone')
          return bucket.storage.list!(input)
        },
      }),
    })
    let last: JobProgress | null = null
    const onProgress = (progress: JobProgress) => void (last = progress)
    await expect(importObjects(s3, { select: ownerFromKey, onProgress })).rejects.toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
    })
    expect(last).toEqual({ done: 2000, after: expect.stringMatching(/^users\/6\//) as string })
    const { files } = await objects.getScopeUsage('user:6')
    expect(files).toBe(200)
  })

  it('fails a key with a NUL character, and goes on after it', async () => {
    const item = { size: 1, eTag: null, lastModified: new Date(0) }
    const storage: ObjectStorage = {
      ...memoryStorage(),
      list: async ({ after }) =>
        after
          ? { items: [{ ...item, key: 'b' }], next: null }
          : { items: [{ ...item, key: 'a\0' }], next: 'a\0' },
    }
    const { run } = await serviceOverBucket([], { storage: () => storage })
    const { failed, ...rest } = await run({ select: () => ({ scope: 'user:1' }) })
    expect(rest).toEqual({ imported: 1, known: 0, differs: 0, skipped: 0, after: 'b' })
    expect(failed).toMatchObject([{ key: 'a\0', error: { code: 'VALIDATION_ERROR' } }])
  })

  it('rejects if a page of the storage does not go on', async () => {
    const { run } = await serviceOverBucket([], {
      storage: (memory) => ({ ...memory, list: async () => ({ items: [], next: 'a' }) }),
    })
    await expect(run()).rejects.toMatchObject({
      ...{ code: 'STORAGE_UNAVAILABLE', retryable: false },
      message:
        'Bucket "files" does not list its keys in byte order (got "a" after "a"), ' +
        'so it can be neither imported nor compared. See docs/existing-buckets.md.',
    })
  })

  it('needs a storage with list', async () => {
    const storage = { ...memoryStorage() }
    delete storage.list
    const withoutList = await serviceOverBucket([], { storage: () => storage })
    await expect(withoutList.run()).rejects.toThrow(
      new TypeError('importObjects: the storage must implement list().'),
    )
  })

  it.each([
    [{ select: undefined }, 'select must be a function (got undefined).'],
    [{ select: 'a' }, 'select must be a function (got "a").'],
    [{ bucket: '' }, 'bucket must be a string of 1 to 255 characters (got an empty string).'],
    [{ prefix: 5 }, 'prefix must be a string of 1 to 1024 bytes of UTF-8 (got 5).'],
    [{ after: 'x'.repeat(1025) }, 'after must be a string of 1 to 1024 bytes of UTF-8 (got a longer one).'],
    [{ concurrency: 0 }, 'concurrency must be an integer from 1 to 1000 (got 0).'],
    [{ dryRun: 'yes' }, 'dryRun must be true or false (got "yes").'],
    [{ signal: {} }, 'signal must be an AbortSignal (got an object).'],
    [{ onProgress: 1 }, 'onProgress must be a function (got 1).'],
  ])('refuses the options %j', async (options, message) => {
    const { run } = await serviceOverBucket([])
    await expect(run(options as never)).rejects.toThrow(new TypeError(`importObjects: ${message}`))
  })
})
