import type { ObjectReference } from '../../core/store/records.js'

/** Returns a unique name of a key. Buckets and keys contain no NUL. */
export function keyName({ bucket, key }: ObjectReference): string {
  return `${bucket}\0${key}`
}
