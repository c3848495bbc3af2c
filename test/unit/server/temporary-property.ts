import fc from 'fast-check'
import {
  cleanUp,
  memoryStorage,
  StorageError,
  type StorageObject,
  type StorageObjectStore,
  type StoredEvent,
} from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { expect, it } from 'vitest'
import { HOUR, ManualClock, MINUTE, SECOND } from '../../conformance/clock.js'
import { BASE, BUCKET, bytesOfSize, startService, type Service } from './service.js'

/** Uploads, replacements, keeps, transfers, ends and jobs in random order, in processes whose clocks differ by up to a minute. */

/** Creates the store of a process with this clock. All share one database, which the first call empties. */
export type OpenStores = () => Promise<(now: () => Date) => StorageObjectStore>

/** Opens one database in memory for several processes: each call sets the clock of its process. */
export const openInMemory: OpenStores = () => {
  let current = () => new Date()
  const shared = memoryAdapter({ now: () => current(), events: true })
  const open = (now: () => Date) =>
    Object.fromEntries(
      Object.entries(shared).map(([name, call]: [string, (...input: never[]) => unknown]) => [
        name,
        (...input: never[]) => {
          current = now
          return call(...input)
        },
      ]),
    ) as unknown as StorageObjectStore
  return Promise.resolve(open)
}

const OWNERS = ['user:1', 'user:2'] as const
const KEYS = ['a', 'b', 'c'] as const
const OFFSETS = [0, 60 * SECOND, 30 * SECOND] as const
const QUOTA = { maxFiles: 3 }

const key = ({ filename }: { readonly filename: string }) => filename
const ROUTES = {
  drafts: { key, overwrite: true, temporarySeconds: 3600 },
  files: { key, overwrite: true },
}

const owner = fc.constantFrom(...OWNERS)
const target = fc.constantFrom(...KEYS)
const index = fc.nat({ max: 9 })

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('upload' as const),
      ...{ owner, key: target, route: fc.constantFrom('drafts', 'drafts', 'files') },
      isConfirmed: fc.constantFrom(true, true, true, false),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('keep' as const),
      indexes: fc.uniqueArray(index, { minLength: 1, maxLength: 2 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('use' as const), index }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('update' as const),
      ...{ index, temporarySeconds: fc.constantFrom(1, 60, 60, 1800, 7200, null) },
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('transfer' as const), index, to: owner }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), index }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      milliseconds: fc.constantFrom(1, 59 * SECOND, MINUTE, HOUR, HOUR + MINUTE),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('cleanUp' as const) }) },
)

const script = fc.array(
  fc.record({
    step,
    process: fc.nat({ max: OFFSETS.length - 1 }),
    besides: fc.option(fc.nat({ max: OFFSETS.length - 1 })),
  }),
  { minLength: 10, maxLength: 40 },
)

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

class World {
  readonly clock = new ManualClock()
  /** The first byte of each attempt that sent its bytes. */
  readonly fills = new Map<string, number>()
  /** Attempts whose object has no end. */
  readonly permanent = new Set<string>()
  /** The ids of what must stay, until its owner deletes it or gives it another end. */
  readonly kept = new Set<string>()
  /** The ids that `isUsed` names. */
  readonly used = new Set<string>()
  readonly #ends = new Map<string, Date>()
  readonly #processes: readonly Service[]

  constructor(open: (now: () => Date) => StorageObjectStore) {
    const bucket = memoryStorage({ now: this.clock.now })
    this.#processes = OFFSETS.map((offset) => {
      const own = new ManualClock()
      const now = () => this.clock.in(offset)
      Object.assign(own, { now })
      return startService({
        ...{ clock: own, objects: open(now), routes: ROUTES, quota: QUOTA, storage: () => bucket },
        isUsed: (rows) => rows.filter(({ id }) => this.used.has(id)).map(({ id }) => id),
        hooks: {
          onDeleted: ({ object, request }) => void (request ?? this.#isOver(object)),
          // Also a late confirm, whose object another upload replaces at once.
          onActivated: ({ object }) =>
            void (this.permanent.has(object.attemptId) && this.kept.add(object.id)),
        },
        pendingTtlSeconds: 3600,
      })
    })
  }

  /** Nothing but its owner removes an object before its end by any clock. */
  #isOver({ attemptId }: StorageObject): void {
    const end = this.#ends.get(attemptId)
    this.#early ||= !end || end > this.clock.now()
  }
  #early = false

  get store(): StorageObjectStore {
    return this.#processes[0]!.objects
  }

  async active(): Promise<StorageObject[]> {
    const rows = []
    for (const scope of OWNERS)
      rows.push(...(await this.store.listByScope({ scope, status: 'active' })).objects)
    return rows.sort((one, other) => (one.id < other.id ? -1 : 1))
  }

  async run(one: Step, process: number, besides: number | null): Promise<void> {
    const service = this.#processes[process]!
    const job = besides === null || one.kind === 'wait' ? null : cleanUp(this.#processes[besides]!.s3)
    await Promise.all([this.#act(service, one), job])
    await this.#check()
  }

  async #act(service: Service, one: Step): Promise<void> {
    if (one.kind === 'wait') return this.clock.advance(one.milliseconds)
    if (one.kind === 'cleanUp') return void (await cleanUp(service.s3))
    if (one.kind === 'use') return
    if (one.kind === 'upload') return this.#upload(service, one)
    const rows = await this.active()
    if (rows.length === 0) return
    const pick = (at: number) => rows[at % rows.length]!
    if (one.kind === 'keep') {
      const picked = [...new Set(one.indexes.map(pick))].filter(
        ({ scope }) => scope === pick(one.indexes[0]!).scope,
      )
      const request = as(picked[0]!.scope)
      const ids = picked.map(({ id, attemptId }, at) => (at % 2 ? attemptId : id))
      if (await succeeds(service.s3.db.keep(request, { ids }))) for (const { id } of picked) this.kept.add(id)
      return
    }
    const row = pick(one.index)
    const { bucket, key, scope, id } = row
    if (one.kind === 'delete') {
      await service.as(scope).delete(key)
      this.kept.delete(id)
      this.used.delete(id)
    } else if (one.kind === 'transfer') {
      await succeeds(service.objects.transfer({ bucket, key, from: scope, to: one.to, quota: QUOTA }))
    } else {
      const { temporarySeconds } = one
      const isChanged = await succeeds(service.s3.db.update(as(scope), { key, temporarySeconds }))
      if (isChanged) this.kept[temporarySeconds === null ? 'add' : 'delete'](id)
    }
  }

  /** Marks an object as used, between two steps: a job that has asked already would not know. */
  async use(at: number): Promise<void> {
    const rows = await this.active()
    const row = rows[at % rows.length]
    if (row) this.used.add(row.id)
  }

  async #upload(
    service: Service,
    { owner, key, route, isConfirmed }: Extract<Step, { kind: 'upload' }>,
  ): Promise<void> {
    const caller = service.as(owner)
    const response = await caller.begin({ filename: key, route })
    const begun = (await response.json()) as Awaited<ReturnType<typeof caller.begun>> & { code?: string }
    if (response.status !== 201) return expect(['QUOTA_EXCEEDED', 'KEY_CONFLICT']).toContain(begun.code)
    const { object, upload } = begun
    const fill = (this.fills.size % 250) + 1
    await caller.put(upload, bytesOfSize(3, fill))
    this.fills.set(object.id, fill)
    if (route === 'files') this.permanent.add(object.id)
    // A job beside it must not end an upload in progress.
    if (isConfirmed) expect((await caller.confirm(object)).status).toBe(200)
  }

  async #check(): Promise<void> {
    expect(this.#early).toBe(false)
    expect(await this.store.checkUsage()).toEqual([])
    const rows = await this.active()
    for (const row of rows) {
      if (row.temporaryUntil) {
        this.#ends.set(row.attemptId, row.temporaryUntil)
        continue
      }
      const isMeant = this.permanent.has(row.attemptId) || this.used.has(row.id)
      if (!this.kept.has(row.id)) expect(isMeant, 'was neither kept nor without an end').toBe(true)
      this.kept.add(row.id)
      const { body } = await this.#processes[0]!.s3.files.get({ key: row.key })
      const bytes = new Uint8Array(await new Response(body).arrayBuffer())
      expect(bytes).toEqual(bytesOfSize(3, this.fills.get(row.attemptId)))
    }
    const ids = new Set(rows.map(({ id }) => id))
    for (const id of [...this.kept, ...this.used]) expect(ids.has(id), `${id} must stay`).toBe(true)
    for (const { id, temporaryUntil } of rows) if (this.kept.has(id)) expect(temporaryUntil).toBeNull()
  }

  /** After all ends, a run of the jobs leaves what was kept, and nothing else. */
  async finish(): Promise<void> {
    for (let run = 0; run < 4; run++) {
      this.clock.advance(3 * HOUR)
      for (const { s3, reported } of this.#processes) {
        const { temporary, leftovers, reservations } = await cleanUp(s3)
        expect([temporary.failed, leftovers.failed, reservations.failed, reported]).toEqual([0, 0, 0, []])
      }
      await this.#check()
    }
    const rows = await this.active()
    expect(rows.filter(({ temporaryUntil }) => temporaryUntil !== null)).toEqual([])
    expect(rows.map(({ id }) => id)).toEqual([...this.kept].sort())
    expect(await this.store.listLeftovers()).toEqual([])
    const page = await this.#processes[0]!.storage.list!({ bucket: BUCKET, limit: 1000 })
    expect(page.items.map((item) => item.key).sort()).toEqual(rows.map(({ storageKey }) => storageKey).sort())
    expect(await this.#replayed()).toEqual(rows)
  }

  /** Applies all events to nothing, and returns the active rows that result. */
  async #replayed(): Promise<StorageObject[]> {
    const rows = new Map<string, StorageObject>()
    for (let after: string | null = null; ;) {
      const page: {
        items: readonly Pick<StoredEvent, 'type' | 'object' | 'previous'>[]
        next: string | null
      } = await this.store.listEvents({ limit: 1000, ...(after !== null && { after }) })
      for (const { type, object, previous } of page.items) {
        const before = rows.get(object.id) ?? null
        // Each change begins where the one before it has ended.
        if (type !== 'deleted') expect(previous).toEqual(before)
        if (type === 'deleted') rows.delete(object.id)
        else rows.set(object.id, object)
      }
      if ((after = page.next) === null) break
    }
    return [...rows.values()].sort((one, other) => (one.id < other.id ? -1 : 1))
  }
}

const as = (scope: string) => new Request(BASE, { headers: { 'x-scope': encodeURIComponent(scope) } })

async function succeeds(call: Promise<unknown>): Promise<boolean> {
  try {
    return (await call) !== null
  } catch (error) {
    expect(error).toBeInstanceOf(StorageError)
    expect(['OBJECT_NOT_FOUND', 'QUOTA_EXCEEDED', 'KEY_CONFLICT']).toContain((error as StorageError).code)
    return false
  }
}

export function itKeepsWhatWasKept(open: OpenStores, numRuns: number): void {
  it(`keeps what was kept and nothing else, in ${numRuns} random orders`, () =>
    fc.assert(
      fc.asyncProperty(script, async (steps) => {
        const world = new World(await open())
        for (const { step, process, besides } of steps) {
          if (step.kind === 'use') await world.use(step.index)
          await world.run(step, process, besides)
        }
        await world.finish()
      }),
      { numRuns },
    ))
}
