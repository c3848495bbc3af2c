import { createAttemptId, type EraseScopeResult, type StorageObject } from '@svc/db'
import { expect } from 'vitest'
import { HOUR } from '../../conformance/clock.js'
import { beginAndPut, bytesOfSize, expectStatus, fetchBytes } from './service.js'
import { cleanUpUntilDone, KEY, LATER, OWNER, putReportInParts, uploadReport, type World } from './world.js'

/** A scope with everything that a scope can have, to erase, beside another one that must keep everything. */

export const OTHER = 'user:2'
/** The route whose keys are random. */
const OTHERS = { route: 'others' }

/** What the erasure of a filled scope must leave in place. */
export interface Survivors {
  /** Storage keys of bytes that the application stored itself. */
  readonly ofApplication: readonly string[]
  /** The rows of the other scope, and a part of the bytes of each: the byte that fills them. */
  readonly ofOther: readonly { readonly object: StorageObject; readonly fill: number | null }[]
}

/** What `eraseScope` returns for a filled scope. */
export const FILLED: EraseScopeResult = {
  objects: 5,
  bytes: 3 * 3,
  reservations: 4,
  history: 1,
  failed: [],
}

export async function fillScope(world: World): Promise<Survivors> {
  const service = world.start()
  const { objects, bucket, bucketName, clock } = world
  const owner = service.as(OWNER)
  const other = service.as(OTHER)
  const at = (key: string) => ({ bucket: bucketName, key })

  // Leftovers of long ago, which nothing can write to any more: bytes, and an upload that was never recorded.
  await owner.abort((await beginAndPut(owner, 7, OTHERS)).object)
  const unrecorded = (await owner.begun(OTHERS)).object
  const { storageKey } = (await objects.findPending(unrecorded))!
  const upload = { ...at(storageKey!), contentType: 'text/plain', attemptId: unrecorded.id }
  world.storageKeys.add(storageKey!)
  await bucket.multipart!.create(upload)
  await owner.abort(unrecorded)
  // A reservation that has expired, with all its bytes.
  await beginAndPut(owner, 7, OTHERS)
  clock.advance(LATER)

  // An object that was replaced, and is being replaced again in parts.
  await uploadReport(service, 1)
  await uploadReport(service, 2)
  await putReportInParts(service, 3)
  // An object that was deleted, one that is active, and an upload that is not confirmed.
  await owner.delete((await owner.upload(OTHERS)).key)
  await owner.upload(OTHERS, 4)
  await beginAndPut(owner, 5, OTHERS)

  // An object that changed its owner, in both directions.
  const received = await other.upload(OTHERS, 6)
  await objects.transfer({ ...at(received.key), from: OTHER, to: OWNER })
  const given = await owner.upload(OTHERS, 7)
  await objects.transfer({ ...at(given.key), from: OWNER, to: OTHER })
  // The other scope's own.
  const own = await other.upload(OTHERS, 8)
  await other.delete((await other.upload(OTHERS)).key)

  // Objects whose bytes the application manages, also of the same keys in another bucket.
  const record = async (scope: string, reference: { bucket: string; key: string }, confirms = true) => {
    const id = createAttemptId({ now: clock.now })
    await objects.reserve({ scope, ...reference, id, declaredSize: 3, expiresAt: clock.in(HOUR) })
    if (confirms) await objects.confirm({ ...reference, id, size: 3 })
  }
  const ofApplication = ['managed/1', 'managed/2'].map((name) => `${bucketName}/${name}`)
  for (const [index, key] of ofApplication.entries()) {
    const body = bytesOfSize(3, 9)
    await bucket.write!({ ...at(key), body, contentType: 'text/plain', attemptId: createAttemptId() })
    await record(OWNER, at(key), index === 0)
  }
  await record(OWNER, { bucket: 'archive', key: 'old' })
  await record(OTHER, { bucket: 'archive', key: KEY })

  const rows = (await objects.listByScope({ scope: OTHER })).objects
  const fills = new Map([
    [given.key, 7],
    [own.key, 8],
  ])
  return {
    ofApplication,
    ofOther: rows.map((object) => ({ object, fill: fills.get(object.key) ?? null })),
  }
}

/** Expects that the scope has nothing but leftovers that may still be written to, and that the rest survived. */
export async function expectErased(world: World, { ofApplication, ofOther }: Survivors): Promise<void> {
  const { objects, bucket, bucketName, storageKeys, clock } = world
  for (const status of ['pending', 'active', 'deleted'] as const) {
    expect((await objects.listByScope({ scope: OWNER, status })).objects).toEqual([])
  }
  const none = { bytes: 0, files: 0, reservedBytes: 0, reservedFiles: 0 }
  expect(await objects.getScopeUsage(OWNER)).toEqual(none)
  expect(await objects.checkUsage()).toEqual([])
  for (const { writableUntil, dueAt } of await objects.listLeftovers({ scope: OWNER })) {
    const closedAt = new Date(writableUntil.getTime() + HOUR)
    expect(closedAt.getTime()).toBeGreaterThan(clock.now().getTime())
    // `cleanUp` looks again then.
    expect(dueAt).toEqual(closedAt)
  }

  const other = world.start().as(OTHER)
  const { objects: rows } = await objects.listByScope({ scope: OTHER })
  expect(rows).toEqual(ofOther.map(({ object }) => object))
  for (const { object, fill } of ofOther) {
    if (fill === null) continue
    const { url } = (await expectStatus(await other.download(object.key), 200)) as { url: string }
    expect(await fetchBytes(other, url)).toEqual(bytesOfSize(3, fill))
  }
  expect(await objects.countByScope(OTHER, 'deleted')).toBe(1)

  const used = new Set([...ofApplication, ...ofOther.map(({ object }) => object.storageKey)])
  for (const key of [...storageKeys, ...ofApplication]) {
    const at = { bucket: bucketName, key }
    // S3 keeps an empty object while an upload URL may still write. A leftover names it.
    expect(((await bucket.head(at))?.size ?? 0) > 0).toBe(used.has(key))
    expect(await bucket.multipart!.list(at)).toEqual([])
  }
}

/** Expects that `cleanUp` forgets what is left, once nothing can be written any more. */
export async function expectNothingAfterCleanUp(world: World): Promise<void> {
  await cleanUpUntilDone(world)
  expect(await world.objects.listLeftovers()).toEqual([])
}

/** What is left of the scope, without ids, which differ from run to run. */
export async function remainderOf({ objects }: World): Promise<unknown[]> {
  const leftovers = await objects.listLeftovers({ scope: OWNER })
  return leftovers
    .map(({ since, writableUntil, dueAt, uploadId }) => ({
      since,
      writableUntil,
      dueAt,
      parts: uploadId !== null,
    }))
    .map((leftover) => JSON.stringify(leftover))
    .sort()
}
