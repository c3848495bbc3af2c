import { GetObjectLockConfigurationCommand, ListObjectsV2Command } from '@aws-sdk/client-s3'
import { PROBE_PREFIX } from '../../../core/object-storage.js'
import { isOfCredentials, isOfRegion, type Failure } from './failures.js'
import { addRefusal, attempt, inputOf, type Inspection } from './inspection.js'

/** What the first request has found out. */
export interface Reached {
  /** What an earlier run has left, or another one is working with. */
  readonly probes: readonly { readonly key: string; readonly lastModified: Date }[]
  readonly mayList: boolean
}

/** Lists what is below the prefix of probes. Returns `null` if nothing else can be checked. */
export async function reachBucket(inspection: Inspection): Promise<Reached | null> {
  const { bucket, run, now } = inspection
  const command = new ListObjectsV2Command({ Bucket: bucket, Prefix: PROBE_PREFIX })
  let dateText: string | undefined
  command.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args)
      dateText = (result.response as { readonly headers?: Record<string, string> }).headers?.['date']
      return result
    },
    { step: 'deserialize', priority: 'low', name: 'dateOfResponse' },
  )
  const sentAt = now()
  let mayList = true
  let isReached = true
  const listed = await attempt(
    inspection,
    () => run('list', inputOf(inspection), (send) => send(command)),
    (failure) => {
      mayList = false
      isReached = isRefusedByPolicy(failure)
      if (isReached) addRefusal(inspection, failure, { permission: 's3:ListBucket', what: 'listings' })
      else addUnreachable(inspection, failure)
    },
  )
  if (!isReached) return null
  if (listed && listed.value.IsTruncated === undefined && listed.value.Name === undefined) {
    addForeign(inspection, 'HTTP 200 without a listing')
    return null
  }
  if (dateText !== undefined) compareClocks(inspection, new Date(dateText), sentAt)
  const probes = (listed?.value.Contents ?? []).flatMap(({ Key, LastModified }) =>
    Key !== undefined && LastModified ? { key: Key, lastModified: LastModified } : [],
  )
  return { probes, mayList }
}

/** Returns whether the service has accepted the credentials, but refuses this request. */
function isRefusedByPolicy(failure: Failure): boolean {
  const { status, code, isForeign } = failure
  return status === 403 && !isForeign && !isOfCredentials(failure) && code !== 'RequestTimeTooSkewed'
}

function addUnreachable(inspection: Inspection, failure: Failure): void {
  const { bucket, findings } = inspection
  const { status, code, isForeign, reason } = failure
  if (isForeign) return addForeign(inspection, reason)
  if (isOfCredentials(failure)) {
    const message = `The service refuses the credentials of the client: correct the access key and its secret (${reason}).`
    return findings.add('permissions', message)
  }
  if (code === 'RequestTimeTooSkewed') {
    return findings.add(
      'clock',
      `The service refuses the time of this server: correct its clock (${reason}).`,
    )
  }
  if (isOfRegion(failure)) return addRegion(inspection, reason)
  if (status === 404) {
    const message = `Bucket "${bucket}" does not exist: create it, or correct its name or the endpoint (${reason}).`
    return findings.add('bucket', message)
  }
  if (status === null && /certificate|self.signed/i.test(reason)) {
    const message = `The certificate of the bucket service is not accepted: add its CA, for example with NODE_EXTRA_CA_CERTS, or correct the host of the endpoint (${reason}).`
    return findings.add('bucket', message)
  }
  const advice =
    status === null
      ? "can't be reached: check the endpoint of the client and the network"
      : "can't be listed: see docs/s3.md for what the service needs"
  findings.add('bucket', `Bucket "${bucket}" ${advice} (${reason}).`)
}

/** The endpoint is that of a console, a login page or a proxy. */
export function addForeign({ findings }: Inspection, reason: string): void {
  const message = `The endpoint does not respond as S3 does: set it to the address of the S3 API, which is not that of a console (${reason}).`
  findings.add('bucket', message, 'foreign')
}

export function addRegion({ bucket, findings }: Inspection, reason: string): void {
  const message = `Bucket "${bucket}" is in another region: set the region of the client, because browsers follow no redirect (${reason}).`
  findings.add('bucket', message, 'region')
}

/** How far the clocks may differ, in milliseconds. */
const TOLERATED_MS = 60_000

/** Compares the bucket's time, in whole seconds, with the times before and after the request. */
function compareClocks({ findings, now }: Inspection, date: Date, sentAt: Date): void {
  const behind = date.getTime() - now().getTime()
  const ahead = sentAt.getTime() - (date.getTime() + 1000)
  const [difference, direction] = behind > 0 ? [behind, 'behind'] : [ahead, 'ahead of']
  if (!(difference > TOLERATED_MS)) return
  const seconds = Math.round(difference / 1000)
  const message = `The clock of this server is ${seconds} s ${direction} that of the bucket service: correct it, for example by NTP, because URLs and reservations end by it.`
  findings.add('clock', message)
}

/** Returns whether the bucket keeps everything for some time (Object Lock). `false` if the account may not ask. */
export async function findsRetention(inspection: Inspection): Promise<boolean> {
  const { bucket, run } = inspection
  const found = await attempt(inspection, () =>
    run('verify', inputOf(inspection), (send) =>
      send(new GetObjectLockConfigurationCommand({ Bucket: bucket })),
    ),
  )
  const hasRetention = found?.value.ObjectLockConfiguration?.Rule?.DefaultRetention !== undefined
  if (hasRetention) addRetention(inspection)
  return hasRetention
}

export function addRetention({ bucket, findings }: Inspection, reason?: string): void {
  const quoted = reason === undefined ? '' : ` (${reason})`
  const message = `Bucket "${bucket}" has a default retention (Object Lock), so browsers can't upload and no more was checked: use a bucket without one${quoted}.`
  findings.add('bucket', message, 'retention')
}
