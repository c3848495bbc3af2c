import { createAttemptId, type StorageObject, type StorageObjectStore } from '@svc/db'
import type { Caller, RaceCaller } from './programs.js'

const BUCKET = 'decisions'
const SCOPES = 3
const PAGE = 20
/** Seconds after which an object ends. Its keepers have as long, whose clocks are those of the other calls. */
const SECONDS = 60
/** How far the clocks are ahead that let objects end, in milliseconds. None is removed sooner than a minute after its end. */
export const AHEAD = 180_000

async function begun({ store, attempt, random }: Caller, terms: object): Promise<StorageObject | null> {
  const at = { bucket: BUCKET, key: createAttemptId() }
  const scope = `decisions ${random(SCOPES)}`
  const input = { ...at, scope, declaredSize: 1, expiresAt: new Date(Date.now() + 3_600_000), ...terms }
  const row = await attempt('reserve', store.reserve({ ...input, storageKey: at.key }))
  return row && attempt('confirm', store.confirm({ ...at, id: row.id, size: 1 }))
}

/** Keeps objects that have an end or removes them. All callers choose from the same page. None may be kept and removed. */
export async function ends(caller: RaceCaller): Promise<void> {
  const { store, later, report, attempt, random } = caller
  await begun(caller, { temporarySeconds: SECONDS })
  const page = (await attempt('listTemporary', later.listTemporary({ limit: PAGE }))) ?? []
  const [first] = page
  if (!first) return
  if (random(2) === 0) {
    const chosen = page.filter(({ scope }) => scope === first.scope).filter(() => random(4) === 0)
    const objects = chosen.length === 0 ? [first] : chosen
    const kept = await attempt('keep', store.keep({ scope: first.scope, objects }))
    report.kept.push(...(kept ?? []).map(({ id }) => id))
    return
  }
  const input = {
    objects: page.filter(() => random(4) === 0),
    mode: random(2) === 0 ? 'soft' : 'hard',
  } as const
  if (input.objects.length === 0) return
  const ended = await attempt('endTemporary', later.endTemporary(input))
  report.ends.push(...(ended?.removed ?? []).map(({ id }) => id))
}

/** Accepts or rejects uploads that have arrived. All callers choose from the same page. None may be accepted and rejected. */
export async function verdicts(caller: RaceCaller): Promise<void> {
  const { store, report, attempt, random } = caller
  await begun(caller, { checkSeconds: SECONDS })
  const page = (await attempt('listArrived', store.listArrived({ limit: PAGE }))) ?? []
  const chosen = page[random(page.length)]
  if (!chosen) return
  const { bucket, key, id } = chosen
  if (random(2) === 0) {
    const accepted = await attempt('accept', store.confirm({ bucket, key, id, size: 1, accept: true }))
    if (accepted) report.kept.push(id)
  } else if (await attempt('reject', store.reject({ bucket, key, id }))) report.ends.push(id)
}

/** Returns the ids of objects that were kept or accepted and are not there for good. */
export async function lostDecisions(store: StorageObjectStore, kept: readonly string[]): Promise<string[]> {
  const lost: string[] = []
  for (const id of new Set(kept)) {
    const row = await store.findById({ id })
    if (row?.status !== 'active' || row.temporaryUntil !== null) lost.push(id)
  }
  return lost
}
