import { cleanUp, type DbClientObject, type StorageObject } from '@svc/db'
import type { DbUpdateInput } from '@svc/db/adapter'
import { memoryAdapter } from '@svc/db/memory'
import { describe, expect, it, vi } from 'vitest'
import { HOUR, ManualClock, MINUTE, SECOND } from '../../conformance/clock.js'
import { doors, uploads, sent } from './doors.js'
import {
  around,
  BASE,
  BUCKET,
  bytesOfSize,
  cleanUpItems,
  errorOf,
  expectStatus,
  outcomesOf,
  startService,
  type Service,
  type ServiceOptions,
} from './service.js'

const DRAFTS = { drafts: { temporarySeconds: 3600 } }
const inScope = (scope = 'user:1') => new Request(BASE, { headers: { 'x-scope': scope } })

/** Starts a service with events on, whose only route makes objects that last an hour. */
function startDrafts(options: ServiceOptions = {}) {
  const clock = options.clock ?? new ManualClock()
  const objects = options.objects ?? memoryAdapter({ now: clock.now, events: true })
  return startService({ routes: DRAFTS, ...options, clock, objects })
}

const rowOf = async ({ objects }: Service, { key }: { readonly key: string }) =>
  objects.findActive({ bucket: BUCKET, key })

/** Records objects that last a minute, without bytes. */
async function fill({ objects, clock }: Service, count: number, scopeOf: (index: number) => string) {
  for (let index = 0; index < count; index++) {
    const at = { bucket: BUCKET, key: String(index), scope: scopeOf(index) }
    const term = { expiresAt: clock.in(HOUR), temporarySeconds: 60 }
    const { id } = await objects.reserve({ ...at, ...term, declaredSize: 1 })
    await objects.confirm({ ...at, id, size: 1 })
  }
}

async function eventTypes({ objects }: Service): Promise<string[]> {
  return (await objects.listEvents()).items.map(({ type }) => type)
}

describe('the end of an object', () => {
  it.each(doors)('is that of the route, counted from the confirm: $name', async ({ store }) => {
    const service = startDrafts()
    const row = await store(service)
    expect(row.temporaryUntil).toEqual(service.clock.in(HOUR))
  })

  it('is shown to its owner once it is active, and can neither be set nor changed by requests', async () => {
    const service = startDrafts({ update: true })
    const caller = service.as('user:1')
    const terms = { temporarySeconds: 9, temporaryUntil: null }
    const { object, upload } = await caller.begun(terms)
    expect(object).not.toHaveProperty('temporaryUntil')
    await caller.put(upload, bytesOfSize(3))
    const confirmed = await expectStatus(
      await caller.send('POST', '/upload/confirm', { ...object, ...terms }),
      200,
    )
    const until = service.clock.in(HOUR).toISOString()
    expect(confirmed).toMatchObject({ object: { temporaryUntil: until } })
    const patched = await caller.send('PATCH', `/db/object?key=${object.key}`, { ...terms, filename: 'b' })
    expect(await expectStatus(patched, 200)).toMatchObject({
      object: { filename: 'b', temporaryUntil: until },
    })
    expect((await caller.send('PATCH', `/db/object?key=${object.key}`, terms)).status).toBe(400)
    const rules = (await expectStatus(await caller.send('GET', '/upload/rules'), 200)) as object
    expect(JSON.stringify(rules)).not.toContain('temporary')
  })

  it('is what files.put says, else that of the route', async () => {
    const { s3, clock } = startService({ routes: { drafts: DRAFTS.drafts, own: { http: false } } })
    const put = async (route: string, temporarySeconds?: number | null) =>
      (await s3.files.put({ scope: 'user:1', body: 'abc', filename: 'a', route, temporarySeconds }))
        .temporaryUntil
    expect(await put('drafts')).toEqual(clock.in(HOUR))
    expect(await put('drafts', null)).toEqual(clock.in(HOUR))
    expect(await put('drafts', 60)).toEqual(clock.in(MINUTE))
    expect(await put('own')).toBeNull()
    expect(await put('own', 31_536_000)).toEqual(clock.in(31_536_000 * SECOND))
    for (const seconds of [0, 31_536_001, 1.5, '60']) {
      await expect(put('own', seconds as number)).rejects.toMatchObject({
        params: { field: 'temporarySeconds' },
      })
    }
  })

  it('counts from a late confirm', async () => {
    const service = startDrafts({ pendingTtlSeconds: 3600 })
    const caller = service.as('user:1')
    const { object } = await sent(uploads[0]!, caller)
    service.clock.advance(7 * 24 * HOUR)
    await cleanUp(service.s3)
    expect(await rowOf(service, object)).toMatchObject({ temporaryUntil: service.clock.in(HOUR) })
  })

  it('of an attempt is also that of s3.db.reserve', async () => {
    const service = startService()
    const row = await service.s3.db.reserve(inScope(), { key: 'own', declaredSize: 1, temporarySeconds: 60 })
    await service.s3.db.confirm(inScope(), { key: 'own', id: row.id, size: 1 })
    expect(await rowOf(service, row)).toMatchObject({ temporaryUntil: service.clock.in(MINUTE) })
  })

  it('is set, lengthened and cleared by s3.db.update', async () => {
    const service = startDrafts({ update: { guard: () => undefined } })
    const { key, id } = await service.as('user:1').upload()
    const update = (request: Request, input: DbUpdateInput) => service.s3.db.update(request, input)
    service.clock.advance(50 * MINUTE)
    expect(await update(inScope(), { id, temporarySeconds: 3600 })).toMatchObject({
      temporaryUntil: service.clock.in(HOUR),
    })
    expect(await update(inScope(), { key, filename: 'b' })).toMatchObject({
      ...{ filename: 'b', temporaryUntil: service.clock.in(HOUR) },
    })
    expect(await update(inScope(), { key, temporarySeconds: null })).toMatchObject({ temporaryUntil: null })
    await expect(update(inScope('user:2'), { key, temporarySeconds: 1 })).rejects.toMatchObject({
      code: 'OBJECT_NOT_FOUND',
    })
    await expect(update(inScope(), { key, temporarySeconds: 0 })).rejects.toMatchObject({
      params: { field: 'temporarySeconds' },
    })
  })

  it('is outlived by no URL, and by no copy in a browser', async () => {
    const signed: { readonly expiresAt: Date; readonly cacheControl?: string | null | undefined }[] = []
    const service = startService({
      routes: { drafts: { temporarySeconds: 1000 } },
      download: { expiresIn: 900 },
      storage: (memory) => ({
        ...memory,
        baseURL: `${BASE}/_storage`,
        signDownload: (input) => (signed.push(input), memory.signDownload(input)),
      }),
    })
    const caller = service.as('user:1')
    const { key } = await caller.upload()
    const end = service.clock.in(1000 * SECOND)
    for (let left = 1000; left > 0; left -= 45) {
      signed.length = 0
      const { expiresAt } = (await expectStatus(await caller.download(key), 200)) as { expiresAt: string }
      expect(expiresAt).toBe(
        new Date(Math.min(end.getTime(), service.clock.time + 900 * SECOND)).toISOString(),
      )
      expect((await caller.file({ key })).status).toBe(302)
      expect((await service.s3.files.downloadURL({ key, expiresIn: 604_800 })).expiresAt).toEqual(end)
      const [download, file, url] = signed
      for (const { expiresAt } of signed) expect(expiresAt <= end).toBe(true)
      expect([download!.expiresAt, url!.expiresAt]).toEqual([new Date(expiresAt), end])
      const maxAge = Number(/max-age=(\d+)$/.exec(file!.cacheControl!)![1])
      expect(file!.expiresAt.getTime() + maxAge * SECOND).toBeLessThanOrEqual(end.getTime())
      service.clock.advance(45 * SECOND)
    }
  })

  it.each([0, 31_536_001, '60', true])('refuses a route with temporarySeconds: %j', (temporarySeconds) => {
    const routes = { drafts: { temporarySeconds: temporarySeconds as number } }
    expect(() => startService({ routes })).toThrow(TypeError)
    expect(() => startService({ routes })).toThrow('routes.drafts.temporarySeconds must be')
  })
})

describe('s3.db.keep', () => {
  it("keeps the caller's objects, by the ids that uploads resolved with", async () => {
    const service = startDrafts({
      routes: { drafts: { ...DRAFTS.drafts, key: ({ filename }) => filename, overwrite: true } },
    })
    const caller = service.as('user:1')
    const a = await caller.upload({ filename: 'a' })
    const b = await caller.upload({ filename: 'b' })
    const again = await caller.begun({ filename: 'b' })
    await caller.put(again.upload, bytesOfSize(3))
    await caller.confirm(again.object)
    const rows = await service.s3.db.keep(inScope(), { ids: [again.object.id, a.id] })
    expect(rows).toMatchObject([
      { id: b.id, temporaryUntil: null },
      { id: a.id, temporaryUntil: null },
    ])
    expect((await eventTypes(service)).filter((type) => type === 'updated')).toHaveLength(2)
    service.clock.advance(24 * HOUR)
    expect((await cleanUp(service.s3)).temporary).toEqual({ removed: 0, kept: 0, failed: 0 })
    expect(await caller.bytes('a')).toEqual(bytesOfSize(3))
  })

  it('keeps all or none, and tells which are missing', async () => {
    const service = startDrafts()
    const own = await service.as('user:1').upload()
    const others = await service.as('user:2').upload()
    const keep = (...ids: unknown[]) => service.s3.db.keep(inScope(), { ids: ids as string[] })
    await expect(keep(others.id, own.id)).rejects.toMatchObject({
      ...{ code: 'OBJECT_NOT_FOUND', params: { missing: '0' } },
    })
    expect(await rowOf(service, own)).not.toMatchObject({ temporaryUntil: null })
    for (const [ids, field] of [
      [[], 'ids'],
      [Array(101).fill(own.id), 'ids'],
      [['a'], 'ids[0]'],
      [[own.id, own.id], 'ids[1]'],
    ] as const) {
      await expect(keep(...ids)).rejects.toMatchObject({
        ...{ code: 'VALIDATION_ERROR', params: { field }, message: expect.stringContaining(field) as string },
      })
    }
    await expect(
      service.s3.db.keep(inScope(), { ids: [own.id], id: 1, idss: [] } as never),
    ).rejects.toMatchObject({
      params: { field: 'idss' },
    })
    await expect(service.s3.db.keep(new Request(BASE), { ids: [own.id] })).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
    })
    expect(await eventTypes(service)).toEqual(['activated', 'activated'])
  })
})

describe('cleanUp of temporary objects', () => {
  it.each(['soft', 'hard'] as const)(
    'removes them a minute after their end, with bytes, history (%s), leftover, event and hook',
    async (deleteMode) => {
      const onDeleted = vi.fn()
      const service = startDrafts({ deleteMode, hooks: { onDeleted } })
      const caller = service.as('user:1')
      const object = await caller.upload()
      const { storageKey, attemptId } = (await rowOf(service, object))!
      const head = () => service.storage.head({ bucket: BUCKET, key: storageKey! })
      service.clock.advance(HOUR + MINUTE - 1)
      expect((await cleanUp(service.s3)).temporary).toEqual({ removed: 0, kept: 0, failed: 0 })
      expect(await service.objects.getScopeUsage('user:1')).toMatchObject({ bytes: 3, files: 1 })
      expect(await head()).not.toBeNull()

      service.clock.advance(1)
      expect((await cleanUpItems(service.s3)).temporary).toEqual([
        { bucket: BUCKET, key: object.key, attemptId, outcome: 'removed' },
      ])
      expect(await head()).toBeNull()
      expect(await service.objects.getScopeUsage('user:1')).toMatchObject({ bytes: 0, files: 0 })
      expect(await service.objects.findById({ id: object.id })).toEqual(
        deleteMode === 'hard' ? null : expect.objectContaining({ status: 'deleted', temporaryUntil: null }),
      )
      expect(await service.objects.listLeftovers()).toMatchObject([{ attemptId }])
      expect(await eventTypes(service)).toEqual(['activated', 'deleted'])
      expect(onDeleted.mock.calls).toMatchObject([[{ object: { id: object.id } }]])
      expect(service.reported).toEqual([])
    },
  )

  it('leaves an upload in progress at the key alone', async () => {
    const service = startDrafts({
      routes: { drafts: { ...DRAFTS.drafts, key: () => 'draft', overwrite: true } },
    })
    const caller = service.as('user:1')
    await caller.upload()
    service.clock.advance(HOUR + MINUTE)
    const { object } = await sent(uploads[0]!, caller, {}, 9)
    expect((await cleanUp(service.s3)).temporary).toMatchObject({ removed: 1 })
    await expectStatus(await caller.confirm(object), 200)
    expect(await caller.bytes('draft')).toEqual(bytesOfSize(3, 9))
  })

  it('leaves buckets alone that the server does not know, and reports each', async () => {
    const service = startDrafts()
    const at = { bucket: 'other', key: 'a', scope: 'user:1' }
    for (const key of ['a', 'b']) {
      const expiresAt = service.clock.in(HOUR)
      const { id } = await service.objects.reserve({
        ...at,
        key,
        declaredSize: 1,
        expiresAt,
        temporarySeconds: 1,
      })
      await service.objects.confirm({ ...at, key, id, size: 1 })
    }
    service.clock.advance(2 * MINUTE)
    expect((await cleanUp(service.s3)).temporary).toEqual({ removed: 0, kept: 0, failed: 0 })
    expect(await service.reportedBy('cleanUp')).toHaveLength(1)
    expect(await service.objects.findActive(at)).not.toBeNull()
  })

  it('leaves what cannot be removed to the next run', async () => {
    const service = startDrafts()
    for (let count = 0; count < 3; count++) await service.as('user:1').upload()
    service.clock.advance(2 * HOUR)
    around(service.objects, 'endTemporary', () => () => Promise.reject(new Error('down')))
    const items = await cleanUpItems(service.s3, { limit: 2 })
    expect(outcomesOf(items.temporary)).toEqual(['failed', 'failed', 'failed'])
    expect(await service.reportedBy('cleanUp')).toHaveLength(1)
  })

  it('stops at a signal after a page, with a result that counts all that it has removed', async () => {
    const service = startDrafts()
    for (let count = 0; count < 7; count++) await service.as('user:1').upload()
    service.clock.advance(2 * HOUR)
    const stop = new AbortController()
    const done: number[] = []
    const { temporary } = await cleanUp(service.s3, {
      ...{ limit: 3, signal: stop.signal, onOutcome: () => stop.abort() },
      onProgress: (progress) => done.push(progress.done),
    })
    expect(temporary).toEqual({ removed: 3, kept: 0, failed: 0 })
    expect(done).toEqual([1, 2, 3])
    expect(await service.objects.getScopeUsage('user:1')).toMatchObject({ files: 4 })
  })

  it('asks and calls the database once a page of at most 100', async () => {
    const asked: number[] = []
    const service = startDrafts({ isUsed: (objects) => (asked.push(objects.length), []) })
    await fill(service, 250, (index) => `user:${index % 7}`)
    service.clock.advance(2 * HOUR)
    const pages: number[] = []
    around(
      service.objects,
      'endTemporary',
      (end) => (input) => (pages.push(input.objects.length), end(input)),
    )
    expect((await cleanUp(service.s3, { limit: 1000 })).temporary).toEqual({
      removed: 250,
      kept: 0,
      failed: 0,
    })
    expect([asked, pages]).toEqual([
      [100, 100, 50],
      [100, 100, 50],
    ])
  })

  it('leaves those alone that were kept and got another end after they were listed', async () => {
    const service = startDrafts()
    const { id, key } = await service.as('user:1').upload()
    service.clock.advance(HOUR + MINUTE)
    around(service.objects, 'listTemporary', (list) => async (input) => {
      const rows = await list(input)
      // By a process whose clock is behind.
      service.clock.advance(-HOUR)
      await service.s3.db.keep(inScope(), { ids: [id] })
      await service.s3.db.update(inScope(), { id, temporarySeconds: 60 })
      service.clock.advance(HOUR)
      return rows
    })
    expect((await cleanUp(service.s3)).temporary).toEqual({ removed: 0, kept: 1, failed: 0 })
    expect(await rowOf(service, { key })).toMatchObject({ temporaryUntil: service.clock.in(MINUTE - HOUR) })
  })
})

describe('isUsed', () => {
  /** Three objects past their end. */
  async function drafts(isUsed: NonNullable<ServiceOptions['isUsed']>, options: ServiceOptions = {}) {
    const asked = vi.fn(isUsed)
    const service = startDrafts({ ...options, isUsed: asked })
    const uploaded: DbClientObject[] = []
    for (let count = 0; count < 3; count++) uploaded.push(await service.as('user:1').upload())
    service.clock.advance(2 * HOUR)
    return { service, uploaded, asked }
  }

  it('keeps what it names, by id or attempt, and ignores other ids', async () => {
    const onDeleted = vi.fn()
    const stranger = '01890000-0000-7000-8000-000000000000'
    const { service, uploaded, asked } = await drafts(
      async ([first, second]) => Promise.resolve([first!.id, second!.attemptId, first!.attemptId, stranger]),
      { hooks: { onDeleted } },
    )
    expect((await cleanUp(service.s3)).temporary).toEqual({ removed: 1, kept: 2, failed: 0 })
    expect(asked.mock.calls[0]![0]).toMatchObject(uploaded.map(({ id }) => ({ id, status: 'active' })))
    expect(onDeleted).toHaveBeenCalledOnce()
    expect(await eventTypes(service)).toEqual([
      'activated',
      'activated',
      'activated',
      'updated',
      'updated',
      'deleted',
    ])
    for (const { key } of uploaded.slice(0, 2)) expect(await service.as('user:1').bytes(key)).toHaveLength(3)
    await cleanUp(service.s3)
    expect(asked).toHaveBeenCalledOnce()
  })

  it('gets copies', async () => {
    const { service } = await drafts((objects) => {
      for (const object of objects)
        Object.assign(object, { key: 'x', id: 'x', attemptId: 'x', temporaryUntil: null })
      return []
    })
    expect((await cleanUp(service.s3)).temporary).toEqual({ removed: 3, kept: 0, failed: 0 })
  })

  it.each<[string, (objects: readonly StorageObject[]) => unknown]>([
    [
      'throws',
      () => {
        throw new Error('no')
      },
    ],
    ['rejects', () => Promise.reject(new Error('no'))],
    ['returns nothing', () => undefined],
    ['returns a string', ([first]) => first!.id],
    ['returns rows', (objects) => objects],
    ['returns keys', (objects) => objects.map(({ key }) => key)],
    ['returns an array with a hole', () => Array<string>(1)],
    ['returns ids in upper case', (objects) => objects.map(({ id }) => id.toUpperCase())],
  ])('removes nothing if it %s, and is asked again by the next run', async (_, isUsed) => {
    let isBroken = true
    const { service, asked } = await drafts((objects) => (isBroken ? (isUsed(objects) as string[]) : []))
    expect((await cleanUp(service.s3, { limit: 1 })).temporary).toEqual({ removed: 0, kept: 3, failed: 0 })
    expect(asked).toHaveBeenCalledTimes(3)
    // Those that are alike, once a run.
    expect((await service.reportedBy('isUsed')).length).toBeGreaterThan(0)
    isBroken = false
    expect((await cleanUp(service.s3)).temporary).toEqual({ removed: 3, kept: 0, failed: 0 })
  })

  it('is asked before a quota is freed, and before a key is', async () => {
    const { service, uploaded, asked } = await drafts((objects) => objects.map(({ id }) => id), {
      quota: { maxFiles: 3 },
    })
    expect(await errorOf(await service.as('user:1').begin())).toMatchObject({ code: 'QUOTA_EXCEEDED' })
    expect(asked).toHaveBeenCalledOnce()
    expect(await rowOf(service, uploaded[0]!)).toMatchObject({ temporaryUntil: null })
  })

  it('keeps the object at a key that an upload would take', async () => {
    const isUsed = vi.fn((objects: readonly StorageObject[]) => objects.map(({ id }) => id))
    const service = startDrafts({ routes: { drafts: { ...DRAFTS.drafts, key: () => 'draft' } }, isUsed })
    const caller = service.as('user:1')
    const { id } = await caller.upload({}, 5)
    service.clock.advance(2 * HOUR)
    expect(await errorOf(await caller.begin())).toMatchObject({ code: 'KEY_CONFLICT' })
    expect(isUsed.mock.calls).toMatchObject([[[{ id }]]])
    expect(await caller.bytes('draft')).toEqual(bytesOfSize(3, 5))
  })
})

describe.each(doors)('$name', ({ store }) => {
  it('removes what is past its end of the scope when a quota refuses, and tries once more', async () => {
    const service = startDrafts({ quota: { maxFiles: 2 } })
    const old = [await store(service), await store(service)]
    const others = await store(service, { scope: 'user:2' })
    service.clock.advance(HOUR + MINUTE - 1)
    await expect(store(service)).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
    service.clock.advance(1)
    await store(service)
    for (const row of old) expect(await rowOf(service, row)).toBeNull()
    expect(await rowOf(service, others)).not.toBeNull()
    expect(await service.objects.getScopeUsage('user:1')).toMatchObject({ files: 1, reservedFiles: 0 })
  })

  it('frees a quota from up to 100 objects past their end and from lapsed reservations, in one go', async () => {
    const service = startDrafts({ quota: { maxFiles: 102 }, pendingTtlSeconds: 3600 })
    await fill(service, 101, () => 'user:1')
    await service.as('user:1').begun()
    service.clock.advance(2 * HOUR)
    let tries = 0
    around(service.objects, 'reserve', (reserve) => (input) => (tries++, reserve(input)))
    await store(service)
    expect(tries).toBe(2)
    expect(await service.objects.getScopeUsage('user:1')).toMatchObject({ files: 2, reservedFiles: 0 })
  })

  it('takes a key from an own object past its end, on a route without overwrite', async () => {
    const isUsed = vi.fn(() => [] as string[])
    const routes = { drafts: { ...DRAFTS.drafts, key: () => 'draft' } }
    const service = startDrafts({ routes, isUsed })
    await store(service)
    service.clock.advance(HOUR + MINUTE - 1)
    await expect(store(service)).rejects.toMatchObject({ code: 'KEY_CONFLICT' })
    service.clock.advance(1)
    await expect(store(service, { scope: 'user:2' })).rejects.toMatchObject({ code: 'KEY_CONFLICT' })
    isUsed.mockImplementationOnce(() => [service.objects].map(() => 'x'))
    await expect(store(service)).rejects.toMatchObject({ code: 'KEY_CONFLICT' })
    const row = await store(service, {}, 9)
    expect(row.temporaryUntil).toEqual(service.clock.in(HOUR))
    expect(await service.as('user:1').bytes('draft')).toEqual(bytesOfSize(3, 9))
  })
})
