import type { DbClientObject, StorageObject } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { ManualClock } from '../../../conformance/clock.js'
import { sent, uploads, type Attempt, type Upload } from '../doors.js'
import { BASE, BUCKET, bytesOfSize, expectStatus, startService, type ServiceOptions } from '../service.js'

/** A service whose uploads are checked before they are visible. */

export const OWNER = 'user:1'
export const KEY = 'report'
export const DAY = 86_400_000

/** The keys of these routes: one that may be replaced, one that may not, and one of a route without checks. */
export const routes = {
  docs: { key: () => KEY, overwrite: true, check: true },
  once: { key: () => 'once', check: { seconds: 3600 } },
  plain: { key: () => KEY, overwrite: true },
}

export function checkedService(options: ServiceOptions = {}) {
  const clock = options.clock ?? new ManualClock()
  return startService({
    clock,
    objects: memoryAdapter({ now: clock.now, events: true }),
    routes,
    storage: (memory) => ({ ...memory, baseURL: `${BASE}/_storage` }),
    ...options,
  })
}

export type CheckedService = ReturnType<typeof checkedService>

/** Uploads and confirms a file that must be checked. */
export async function arrived(
  service: CheckedService,
  { upload = uploads[0]!, route = 'docs', fill = 1, owner = OWNER } = {},
): Promise<{ readonly attempt: Attempt; readonly row: StorageObject; readonly object: DbClientObject }> {
  const caller = service.as(owner)
  const attempt = await sent(upload, caller, { route }, fill)
  const { object } = (await expectStatus(await upload.finish(caller, attempt), 200)) as Attempt
  const { bucket, key, id } = attempt.object
  return { attempt, row: (await service.objects.findPending({ bucket, key, id }))!, object }
}

/** Stores the version that a checked upload would replace. */
export async function olderVersion({ s3 }: CheckedService, fill = 9): Promise<StorageObject> {
  const file = { scope: OWNER, route: 'plain', filename: 'a.txt', contentType: 'text/plain' }
  return s3.files.put({ ...file, body: bytesOfSize(3, fill) })
}

/** Returns the types of the events of an object that wait to be delivered. */
export async function recorded({ objects }: CheckedService, key = KEY): Promise<string[]> {
  const { items } = await objects.listEvents()
  return items.filter(({ object }) => object.key === key).map(({ type }) => type)
}

export const verdictOn = ({ key, attemptId }: StorageObject) => ({ bucket: BUCKET, key, attemptId })

export { uploads, type Upload }
