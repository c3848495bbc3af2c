import { ListMultipartUploadsCommand } from '@aws-sdk/client-s3'
import { PROBE_PREFIX, type MultipartReference } from '../../../core/object-storage.js'
import { decodeKey } from '../calls.js'
import { addRefusal, attempt, inputOf, type Inspection } from './inspection.js'
import type { Reached } from './reach.js'

/** Returns a new key of an object that a check writes. */
export function probeKey(): string {
  return `${PROBE_PREFIX}verify/${crypto.randomUUID()}`
}

/** What a run may remove, and thus write. */
export interface Removals {
  readonly objects: boolean
  readonly uploads: boolean
}

/** Finds out what may be removed, by removing what isn't there. Only a refusal tells: services differ in how they miss it. */
export async function checkRemovals(inspection: Inspection): Promise<Removals> {
  const { storage, bucket } = inspection
  const at = { bucket, key: probeKey() }
  const removals = { objects: true, uploads: true }
  await attempt(
    inspection,
    () => storage.remove(at),
    (failure) => {
      if (failure.status !== 403) return
      removals.objects = false
      addRefusal(inspection, failure, {
        permission: 's3:DeleteObject',
        what: 'deletes, and to check the rest',
      })
    },
  )
  await attempt(
    inspection,
    () => storage.multipart.abort({ ...at, uploadId: crypto.randomUUID() }),
    (failure) => {
      if (failure.status !== 403) return
      removals.uploads = false
      const permission = 's3:AbortMultipartUpload'
      addRefusal(inspection, failure, { permission, what: 'uploads in parts that end early' })
    },
  )
  return removals
}

/** Older probes are of a run that was killed. */
const OLD_MS = 60 * 60 * 1000

/** Removes what runs have left that were killed. Others may be in progress. */
export async function removeOldProbes(
  inspection: Inspection,
  { probes }: Reached,
  removals: Removals,
): Promise<void> {
  const { bucket, run, now } = inspection
  const isOld = (time: Date | undefined) => time !== undefined && now().getTime() - time.getTime() > OLD_MS
  const keys = probes.filter(({ lastModified }) => isOld(lastModified)).map(({ key }) => key)
  const command = new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: PROBE_PREFIX })
  // A missing permission is found out later, and not every service has this list.
  const listed =
    removals.uploads &&
    (await attempt(inspection, () => run('verify', inputOf(inspection), (send) => send(command))))
  const begun = (listed ? listed.value.Uploads : null) ?? []
  const uploads = begun.flatMap(({ Key, UploadId: uploadId, Initiated }) =>
    Key !== undefined && uploadId !== undefined && isOld(Initiated)
      ? { bucket, key: decodeKey(Key), uploadId }
      : [],
  )
  await removeProbes(inspection, { keys, uploads })
}

/** Removes what a run has written, also after the caller has aborted. */
export async function removeProbes(
  inspection: Inspection,
  written: {
    readonly keys: Iterable<string>
    readonly uploads: Iterable<Omit<MultipartReference, 'signal'>>
  },
): Promise<void> {
  const { bucket, storage, findings } = inspection
  const ownTime = { signal: undefined }
  const remove = (key: string, call: () => Promise<void>) =>
    attempt(ownTime, call, ({ reason }) =>
      findings.add(
        'bucket',
        `Bucket "${bucket}" did not remove ${key}: remove it, or call verify again after an hour (${reason}).`,
      ),
    )
  for (const upload of written.uploads) {
    await remove(upload.key, () => storage.multipart.abort(upload))
  }
  for (const key of written.keys) await remove(key, () => storage.remove({ bucket, key }))
}
