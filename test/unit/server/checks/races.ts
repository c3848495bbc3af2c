import { cleanUp, endUploads, transferScope, type StorageError, type StorageObjectStore } from '@svc/db'
import fc from 'fast-check'
import { expect } from 'vitest'
import { HOUR, ManualClock } from '../../../conformance/clock.js'
import { begun, uploads, type Attempt } from '../doors.js'
import { BUCKET, bytesOfSize, type Service } from '../service.js'
import { interceptCalls } from '../world.js'
import { checkedService, KEY, OWNER } from './checked.js'

/** What may happen to a key at any time, by how often it does. An `upload` begins and sends its bytes. */
const STEPS = {
  ...{ upload: 1, confirm: 8, accept: 3, reject: 2, abort: 1, delete: 1, put: 1 },
  ...{ cleanUp: 3, endUploads: 3, transfer: 1, hour: 2, week: 1 },
}
type Step = keyof typeof STEPS

const step = fc.oneof(
  ...Object.entries(STEPS).map(([name, weight]) => ({ weight, arbitrary: fc.constant(name as Step) })),
)

/** Steps that happen at once, often after an upload has begun. `back` tells which upload they concern: mostly 0, the last one. */
const groups = fc.array(
  fc.record({
    begin: fc.boolean(),
    steps: fc.array(fc.record({ step, back: fc.constantFrom(0, 0, 0, 1, 2), inParts: fc.boolean() }), {
      minLength: 1,
      maxLength: 4,
    }),
  }),
  { minLength: 4, maxLength: 10 },
)
type Groups = typeof groups extends fc.Arbitrary<infer Value> ? Value : never

/** How many turns of the event loop each call of the store and the storage waits. */
const pauses = fc.array(fc.nat(3), { minLength: 8, maxLength: 8 })

interface Upload {
  readonly attempt: Attempt
  readonly kind: (typeof uploads)[number]
  wasAccepted: boolean
  /** Whether a confirm has returned that the bytes are being checked. */
  isSafe: boolean
  /** Whether a step was begun that may end it although its bytes have arrived. */
  mayEnd: boolean
}

const REFUSED = ['OBJECT_NOT_FOUND', 'KEY_CONFLICT', 'UPLOAD_REJECTED', 'UPLOAD_MISMATCH']

async function refusable<T>(call: Promise<T>): Promise<T | null> {
  try {
    return await call
  } catch (error) {
    expect(REFUSED).toContain((error as Partial<StorageError>).code)
    return null
  }
}

/**
 * Runs uploads, verdicts, jobs and their like at once. Whatever the order: nothing is visible that was not accepted, no attempt has two
 * verdicts, what its owner was told is safe stays until a verdict or its owner ends it, events match, and usage equals a recount.
 */
export async function checkRaces(
  numRuns: number,
  createObjects: (clock: ManualClock) => Promise<StorageObjectStore>,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(groups, pauses, async (groups, pauses) => {
      const clock = new ManualClock()
      const objects = await createObjects(clock)
      let calls = 0
      const slow = interceptCalls(async (call) => {
        for (let turns = pauses[calls++ % pauses.length]!; turns > 0; turns--) {
          await new Promise((resolve) => setImmediate(resolve))
        }
        return call()
      })
      const service = checkedService({
        clock,
        objects: slow.objects(objects),
        storage: (memory) => slow.storage(memory),
      })
      await new Race(service, objects, clock).run(groups)
    }),
    { numRuns, seed: 70 },
  )
}

class Race {
  readonly #uploads: Upload[] = []
  readonly #puts = new Set<string>()
  readonly #rejected = new Map<string, number>()

  constructor(
    readonly service: Service,
    readonly objects: StorageObjectStore,
    readonly clock: ManualClock,
  ) {}

  async run(groups: Groups): Promise<void> {
    for (const { begin, steps } of groups) {
      if (begin) await this.#take('upload', undefined, steps[0]!.inParts)
      await Promise.all(
        steps.map(({ step, back, inParts }) =>
          this.#take(step, this.#uploads.at(-1 - back) ?? this.#uploads.at(-1), inParts),
        ),
      )
      await this.#check()
    }
    await this.#checkEvents()
  }

  async #take(step: Step, upload: Upload | undefined, inParts: boolean): Promise<void> {
    const { s3 } = this.service
    const owner = this.service.as(OWNER)
    const all = this.#uploads
    switch (step) {
      case 'upload': {
        all.forEach((each) => (each.mayEnd = true))
        const kind = uploads[inParts ? 1 : 0]!
        const attempt = await begun(kind, owner, { route: 'docs' }).catch(() => null)
        if (attempt === null) return
        all.push({ attempt, kind, wasAccepted: false, isSafe: false, mayEnd: false })
        // The attempt may have ended meanwhile.
        await kind.send(owner, attempt, 1).catch(() => undefined)
        return
      }
      case 'put': {
        all.forEach((each) => (each.mayEnd = true))
        const file = { scope: OWNER, route: 'plain', filename: 'a.txt', body: bytesOfSize(2) }
        const row = await refusable(s3.files.put(file))
        if (row) this.#puts.add(row.attemptId)
        return
      }
      case 'delete':
        all.forEach((each) => (each.mayEnd = true))
        await owner.delete(KEY)
        return
      case 'hour':
        this.clock.advance(2 * HOUR)
        return
      case 'week':
        all.forEach((each) => (each.mayEnd = true))
        this.clock.advance(8 * 24 * HOUR)
        return
      case 'cleanUp':
        await cleanUp(s3, { unconfirmed: inParts ? 'confirm' : 'discard' })
        return
      case 'endUploads':
        expect((await endUploads(s3, { scope: OWNER })).failed).toEqual([])
        return
      case 'transfer':
        // To itself and back, so that the owner of everything stays the same.
        await transferScope(s3, { from: OWNER, to: 'user:2' })
        await transferScope(s3, { from: 'user:2', to: OWNER })
        return
      default:
        if (upload) await this.#takeFor(upload, step)
    }
  }

  async #takeFor(upload: Upload, step: 'confirm' | 'abort' | 'accept' | 'reject'): Promise<void> {
    const { s3 } = this.service
    const owner = this.service.as(OWNER)
    const { attempt, kind } = upload
    const { key, id: attemptId } = attempt.object
    switch (step) {
      case 'confirm': {
        const response = await kind.finish(owner, attempt)
        const { object } = (await response.json()) as Partial<Attempt>
        if (response.status === 200 && object?.checking) upload.isSafe = true
        return
      }
      case 'abort':
        upload.mayEnd = true
        await kind.abort(owner, attempt)
        return
      case 'accept': {
        upload.wasAccepted = true
        const row = await refusable(s3.files.accept({ key, attemptId }))
        if (row) expect(row).toMatchObject({ status: 'active', attemptId })
        if (row) upload.mayEnd = true
        expect(this.#rejected.has(attemptId) && row !== null).toBe(false)
        return
      }
      case 'reject': {
        const row = await refusable(s3.files.reject({ key, attemptId, reason: 'no' }))
        if (row === null) return
        upload.mayEnd = true
        this.#rejected.set(attemptId, (this.#rejected.get(attemptId) ?? 0) + 1)
        expect(this.#rejected.get(attemptId)).toBe(1)
      }
    }
  }

  async #check(): Promise<void> {
    expect(await this.objects.checkUsage()).toEqual([])
    const active = await this.objects.findActive({ bucket: BUCKET, key: KEY })
    const isChecked = this.#uploads.some(
      ({ attempt, wasAccepted }) => wasAccepted && attempt.object.id === active?.attemptId,
    )
    expect(active === null || isChecked || this.#puts.has(active.attemptId)).toBe(true)
    const pending = await this.objects.findPending({ bucket: BUCKET, key: KEY })
    for (const { attempt, isSafe, mayEnd } of this.#uploads) {
      if (isSafe && !mayEnd) expect(pending).toMatchObject({ id: attempt.object.id, status: 'pending' })
    }
    for (const row of [active, pending?.arrivedAt ? pending : null]) {
      if (row === null) continue
      const stored = await this.service.storage.head({ bucket: BUCKET, key: row.storageKey! })
      expect(stored).toMatchObject({ size: row.size, attemptId: row.attemptId })
    }
  }

  /** An attempt arrives once, before it is activated or rejected, and is never both. */
  async #checkEvents(): Promise<void> {
    const { items } = await this.objects.listEvents({ limit: 1000 })
    for (const { attempt } of this.#uploads) {
      const types = items
        .filter(({ object }) => object.attemptId === attempt.object.id)
        .map(({ type }) => type)
        .filter((type) => ['arrived', 'activated', 'rejected'].includes(type))
      expect([[], ['arrived'], ['arrived', 'activated'], ['arrived', 'rejected']]).toContainEqual(types)
    }
  }
}
