import type { ObjectStorage } from '@svc/db'
import { expect, it } from 'vitest'
import { HOUR, ManualClock } from '../../conformance/clock.js'
import { doors } from '../../unit/server/doors.js'
import {
  BASE,
  BUCKET,
  bytesOfSize,
  cleanUpItems,
  outcomesOf,
  startService,
} from '../../unit/server/service.js'

const OWNER = 'user:1'
const asOwner = new Request(BASE, { headers: { 'x-scope': encodeURIComponent(OWNER) } })

/** Long enough for every URL of an upload, also in parts, and for its leftover to expire. */
const LATER = 26 * HOUR

export interface EndedBytes {
  readonly bucket?: string
  readonly storageOf: (now: () => Date) => ObjectStorage
  /** Lists the keys of the bucket. Default: by the storage. */
  readonly keysOf?: () => Promise<readonly string[]>
}

/** Tests that objects past their end leave the bucket, with all that was stored for them, and that the others stay. */
export function itRemovesEndedBytes({ bucket = BUCKET, storageOf, keysOf }: EndedBytes): void {
  it.each(doors)('removes what $name has stored, a minute after its end, unless it is kept', async (door) => {
    const clock = new ManualClock()
    const used = new Set<string>()
    const service = startService({
      ...{ clock, bucket, storage: () => storageOf(clock.now) },
      routes: { drafts: { temporarySeconds: 3600 } },
      isUsed: (objects) => objects.map(({ id }) => id).filter((id) => used.has(id)),
    })
    const { s3, storage, objects } = service
    const keysIn =
      keysOf ?? (async () => (await storage.list!({ bucket, limit: 100 })).items.map(({ key }) => key))
    const rows = []
    for (let fill = 1; fill <= 3; fill++) rows.push(await door.store(service, {}, fill))
    const [kept, inUse, ended] = rows as [(typeof rows)[0], (typeof rows)[0], (typeof rows)[0]]
    await s3.db.keep(asOwner, { ids: [kept.id] })
    used.add(inUse.id)

    clock.advance(2 * HOUR)
    const { temporary } = await cleanUpItems(s3)
    expect(outcomesOf(temporary).sort()).toEqual(['kept', 'removed'])
    expect(await objects.findById({ id: ended.id })).toMatchObject({ status: 'deleted' })
    for (let run = 0; run < 2; run++) {
      // An empty object may keep upload URLs from writing again until they have expired.
      clock.advance(LATER)
      expect((await cleanUpItems(s3)).temporary).toEqual([])
    }
    expect(await objects.listLeftovers()).toEqual([])
    expect([...(await keysIn())].sort()).toEqual([kept.storageKey, inUse.storageKey].sort())
    for (const [row, fill] of [
      [kept, 1],
      [inUse, 2],
    ] as const) {
      const { body } = await s3.files.get({ key: row.key })
      expect(new Uint8Array(await new Response(body).arrayBuffer())).toEqual(bytesOfSize(3, fill))
    }
    expect(await objects.getScopeUsage(OWNER)).toMatchObject({ bytes: 6, files: 2 })
    expect(service.reported).toEqual([])
  })
}
