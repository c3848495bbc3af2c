import { createAttemptId, type ReserveInput, type StorageObject } from '@svc/db'
import {
  BUCKET,
  inAnHour,
  pick,
  randomBelow,
  SCOPES,
  TIGHT,
  TIGHT_QUOTA,
  uniqueFilename,
  type Caller,
} from './load.js'

/** A key that one caller writes at a time, as its acknowledged writes left it. */
export interface OwnKey {
  readonly key: string
  scope: string
  active: ExpectedObject | null
  /** The attempt of the upload in progress. */
  pending: { readonly id: string; readonly filename: string } | null
}

type ExpectedObject = Pick<StorageObject, 'id' | 'attemptId' | 'size' | 'filename' | 'storageKey'>

const FULL = ['QUOTA_EXCEEDED']
const refusalsOf = (scope: string) => (scope === TIGHT ? FULL : [])
const quotaOf = (scope: string) => (scope === TIGHT ? TIGHT_QUOTA : null)
const referenceOf = ({ key }: OwnKey) => ({ bucket: BUCKET, key })

/** Returns sentences about acknowledged writes that are missing. */
export async function differencesOf({ store, call, version }: Caller, own: OwnKey): Promise<string[]> {
  const active = await call('findActive', () => store.findActive(referenceOf(own)))
  const pending = await call('findPending', () => store.findPending(referenceOf(own)))
  const found = {
    active: active && { ...expectedOf(active), scope: active.scope },
    pending: pending && { id: pending.attemptId, filename: pending.filename, scope: pending.scope },
  }
  const wanted = {
    active: own.active && { ...own.active, scope: own.scope },
    pending: own.pending && { ...own.pending, scope: own.scope },
  }
  const [foundText, wantedText] = [JSON.stringify(found), JSON.stringify(wanted)]
  return foundText === wantedText ? [] : [`${version} found ${foundText} at ${own.key}, not ${wantedText}`]
}

/** Makes one or two calls for a key. */
export async function changeOwnKey(caller: Caller, own: OwnKey): Promise<void> {
  const die = randomBelow(caller.version === '2.0' ? 21 : 9)
  if (die === 0) {
    caller.report.faults.push(...(await differencesOf(caller, own)))
  } else if (die === 1) await remove(caller, own)
  else if (die === 2) await release(caller, own)
  else if (die < 6) await (own.pending ? confirm(caller, own) : reserve(caller, own))
  else if (die < 9) {
    await reserve(caller, own)
    await confirm(caller, own)
  } else if (die < 12) await update(caller, own)
  else if (die < 14) await transfer(caller, own)
  else if (die === 14) await adopt(caller, own)
  else if (die === 15) await actOnOtherAttempt(caller, own)
  else if (die < 18) await uploadTemporary(caller, own)
  else if (die === 18) await keep(caller, own)
  else await uploadChecked(caller, own)
}

/** The terms of an attempt, which 1.5.5 doesn't know. */
type Terms = Pick<ReserveInput, 'temporarySeconds' | 'checkSeconds'>

async function reserve(
  { store, call }: Caller,
  own: OwnKey,
  terms: Terms = {},
): Promise<StorageObject | null> {
  const [id, filename] = [createAttemptId(), uniqueFilename()]
  const { key, scope } = own
  const attempt = { id, bucket: BUCKET, key, scope, declaredSize: randomBelow(100), expiresAt: inAnHour() }
  const input = { ...attempt, filename, storageKey: `bytes/${id}`, quota: quotaOf(scope), ...terms }
  // A refusal leaves the attempt before it as it was.
  const row = await call('reserve', () => store.reserve(input), refusalsOf(scope))
  if (row) own.pending = { id, filename }
  return row
}

async function confirm({ store, change }: Caller, own: OwnKey): Promise<StorageObject | null> {
  if (!own.pending) return null
  const { scope } = own
  const { id } = own.pending
  const input = { ...referenceOf(own), id, scope, size: randomBelow(100), quota: quotaOf(scope) }
  const row = await change('activated', () => store.confirm(input), { refusals: refusalsOf(scope) })
  if (!row) return null
  own.active = expectedOf(row)
  own.pending = null
  return row
}

async function release({ store, call, report }: Caller, own: OwnKey): Promise<void> {
  if (!own.pending) return
  const { id } = own.pending
  const row = await call('release', () => store.release({ ...referenceOf(own), id, scope: own.scope }))
  if (row?.id !== id) report.faults.push(`release of ${own.key} returned ${JSON.stringify(row)}`)
  own.pending = null
}

async function remove(caller: Caller, own: OwnKey): Promise<void> {
  const { store, change, report, version } = caller
  const byAttempt = version === '2.0' && own.active !== null && randomBelow(2) === 0
  const attemptId = byAttempt ? { attemptId: own.active!.attemptId } : {}
  const input = { ...referenceOf(own), scope: own.scope, mode: pick(['soft', 'hard'] as const), ...attemptId }
  const row = await change('deleted', () => store.remove(input))
  const wanted = own.active?.attemptId ?? own.pending?.id ?? null
  if ((row?.attemptId ?? null) !== wanted) {
    report.faults.push(`remove of ${own.key} returned ${JSON.stringify(row)}, not ${wanted}`)
  }
  own.active = null
  own.pending = null
}

async function update({ store, change, report }: Caller, own: OwnKey): Promise<void> {
  const filename = uniqueFilename()
  const input = { ...referenceOf(own), scope: own.scope, filename, metadata: { at: filename } }
  const row = await change('updated', () => store.update(input))
  if ((row === null) !== (own.active === null))
    report.faults.push(`update of ${own.key} returned ${row?.attemptId}`)
  if (!row) return
  own.active = expectedOf(row)
  // A repeat changes nothing, and is not recorded.
  await store.update(input)
}

async function transfer({ store, change, call }: Caller, own: OwnKey): Promise<void> {
  if (!own.active) return
  const from = own.scope
  const to = pick(SCOPES.filter((scope) => scope !== from))
  const input = { ...referenceOf(own), from, to, quota: quotaOf(to) }
  const row = await change('transferred', () => store.transfer(input), { refusals: refusalsOf(to) })
  if (!row) return
  own.scope = to
  own.active = expectedOf(row)
  own.pending = null
  await call('transfer', () => store.transfer(input))
}

async function adopt(caller: Caller, own: OwnKey): Promise<void> {
  // Adopted bytes have no quota, so the tight scope would exceed its own.
  if (own.active || own.pending || own.scope === TIGHT) return
  const { store, change } = caller
  const [storageKey, filename] = [`adopted/${createAttemptId()}`, uniqueFilename()]
  const input = {
    ...{ ...referenceOf(own), scope: own.scope, storageKey, filename },
    ...{ size: randomBelow(100), createdAt: new Date(2020, 1 + randomBelow(12)) },
  }
  const row = await change('activated', async () => (await store.adopt(input)).object)
  if (!row) return
  own.active = expectedOf(row)
  const again = await store.adopt(input)
  if (!again.known) caller.report.faults.push(`adopt of ${own.key} does not know its bytes`)
}

/** Makes an object with an end, for the processes after this one. Those of 1.5.5 may drop the end. */
async function uploadTemporary(caller: Caller, own: OwnKey): Promise<void> {
  const isNew = own.active === null
  if (!(await reserve(caller, own, { temporarySeconds: 3600 }))) return
  const row = await confirm(caller, own)
  if (row && isNew && row.temporaryUntil === null) caller.report.faults.push(`${own.key} has no end`)
}

/** Keeps an object, which may have an end, by each of its calls. */
async function keep({ store, change, report }: Caller, own: OwnKey): Promise<void> {
  if (!own.active) return
  const { key, scope } = own
  const { id, attemptId } = own.active
  const keepIt = async () => (await store.keep({ scope, objects: [{ id: pick([id, attemptId]) }] }))[0]!
  const passOver = async () => {
    const row = (await store.findActive(referenceOf(own)))!
    const { temporaryUntil } = row
    if (temporaryUntil === null) return null
    const objects = [{ ...row, temporaryUntil }]
    const { removed, kept } = await store.endTemporary({ objects, keep: [id] })
    if (removed.length > 0 || kept !== 1) report.faults.push(`endTemporary did not keep ${key}`)
    return store.findActive(referenceOf(own))
  }
  // Whether it has an end depends on the processes before.
  const row = await change('updated', pick([keepIt, passOver]), { isCertain: false })
  if (!row) return
  if (row.temporaryUntil !== null) report.faults.push(`${key} still has an end`)
  own.active = expectedOf(row)
}

/** Uploads what is checked, and decides at once: on MongoDB, 1.5.5 would activate an arrived attempt. */
async function uploadChecked(caller: Caller, own: OwnKey): Promise<void> {
  // The quota may refuse the arrival, which would leave the attempt to the next process.
  if (own.scope === TIGHT || !(await reserve(caller, own, { checkSeconds: 3600 }))) return
  const { store, call, change, report } = caller
  const { id } = own.pending!
  const verdict = { ...referenceOf(own), id, scope: own.scope }
  const confirmation = { ...verdict, size: randomBelow(100) }
  const arrived = await call('confirm', () => store.confirm(confirmation))
  if (!arrived?.arrivedAt) return void report.faults.push(`confirm of ${own.key} did not mark an arrival`)
  if (randomBelow(2) === 0) {
    const row = await change('activated', () => store.confirm({ ...confirmation, accept: true }))
    if (row) own.active = expectedOf(row)
  } else {
    const row = await call('reject', () => store.reject(verdict))
    if (row?.id !== id) report.faults.push(`reject of ${own.key} returned ${JSON.stringify(row)}`)
  }
  own.pending = null
}

async function actOnOtherAttempt({ store, call, report }: Caller, own: OwnKey): Promise<void> {
  const input = { ...referenceOf(own), attemptId: createAttemptId() }
  const removed = await call('remove', () => store.remove(input))
  const updated = await call('update', () => store.update({ ...input, filename: 'other' }))
  if (removed ?? updated) report.faults.push(`another attempt of ${own.key} was changed`)
}

function expectedOf({ id, attemptId, size, filename, storageKey }: StorageObject): ExpectedObject {
  return { id, attemptId, size, filename, storageKey }
}
