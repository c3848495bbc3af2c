import type { ObjectStorage } from '../../../core/object-storage.js'
import type { RunBucketCall } from '../calls.js'
import { checkCORS } from './cors.js'
import { FindingList } from './failures.js'
import {
  addRefusal,
  attempt,
  inputOf,
  type CheckedStorage,
  type Inspection,
  type VerifySettings,
} from './inspection.js'
import { checkObjects, signProbe } from './objects.js'
import { checkParts } from './parts.js'
import { checkRemovals, probeKey, removeOldProbes } from './probes.js'
import { addForeign, findsRetention, reachBucket } from './reach.js'
import { urlSender } from './signed-urls.js'

/** Creates the `verify` of `s3Storage`, which does what requests do, with the same calls. */
export function s3Verify(
  storage: CheckedStorage,
  run: RunBucketCall,
  settings: VerifySettings,
): NonNullable<ObjectStorage['verify']> {
  const sendToURL = urlSender(settings.client, settings.timeoutSeconds)
  return async ({ bucket, signal, origin = null, browserUploads }) => {
    signal?.throwIfAborted()
    const findings = new FindingList()
    await inspect({
      ...settings,
      ...{ storage, run, sendToURL, findings, bucket, signal, origin },
      browserUploads: browserUploads ?? true,
    })
    return findings.all
  }
}

/** Adds the findings of a bucket, as far as the earlier ones let it look. */
async function inspect(inspection: Inspection): Promise<void> {
  const reached = await reachBucket(inspection)
  if (!reached || !(await missesKey(inspection, reached))) return
  const probe = await signProbe(inspection)
  if (!probe) return
  const { url, headers } = probe.upload
  await checkCORS(inspection, { url, headers: Object.keys(headers) })
  if (await findsRetention(inspection)) return
  // Nothing is written that can't be removed.
  const removals = await checkRemovals(inspection)
  if (!removals.objects) return
  await removeOldProbes(inspection, reached, removals)
  const isUsable = await checkObjects(inspection, probe)
  if (isUsable && removals.uploads) await checkParts(inspection, reached)
}

/** Looks up a key that isn't there. An endpoint that isn't S3 may respond to everything with 200. */
async function missesKey(
  inspection: Inspection,
  { mayList }: { readonly mayList: boolean },
): Promise<boolean> {
  // Without the right to list, S3 doesn't tell a missing key from a forbidden one.
  if (!mayList) return true
  const { storage } = inspection
  const found = await attempt(
    inspection,
    () => storage.head({ ...inputOf(inspection), key: probeKey() }),
    (failure) =>
      addRefusal(inspection, failure, { permission: 's3:GetObject', what: 'confirms and downloads' }),
  )
  if (!found?.value) return true
  addForeign(inspection, 'HTTP 200 to a HEAD of a key that nothing wrote')
  return false
}
