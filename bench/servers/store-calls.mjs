import { createAttemptId } from '@svc/db'
import { bucket } from './scopes.mjs'

export const SIZE = 1000
/** A quota that is compared but never reached. */
export const ample = { maxBytes: Number.MAX_SAFE_INTEGER, maxFiles: Number.MAX_SAFE_INTEGER }

/** Makes one upload: reserves a new key and confirms it. */
export async function upload(store, scope) {
  const { key, id } = await reserve(store, scope, ample)
  await store.confirm({ bucket, key, id, scope, size: SIZE, eTag: 'e', quota: ample })
}

/** Makes one upload that is checked before it is visible: reserves a new key, marks it as arrived, and accepts it. */
export async function checkedUpload(store, scope) {
  const { key, id } = await reserve(store, scope, ample, undefined, { checkSeconds: 604_800 })
  const attempt = { bucket, key, id, scope, size: SIZE, eTag: 'e', quota: ample }
  await store.confirm(attempt)
  const { status } = await store.confirm({ ...attempt, accept: true })
  if (status !== 'active') throw new Error(`The upload was not accepted, but ${status}.`)
}

/** Reserves a key, by default a new one that sorts after all earlier ones. */
export function reserve(store, scope, limits, ownKey, terms) {
  const id = createAttemptId()
  const key = ownKey ?? `uploads/${id}`
  const expiresAt = new Date(Date.now() + 3_600_000)
  return store.reserve({
    id,
    scope,
    bucket,
    key,
    declaredSize: SIZE,
    expiresAt,
    storageKey: key,
    quota: limits,
    route: 'common',
    filename: 'holiday picture.jpg',
    contentType: 'image/jpeg',
    ...terms,
  })
}
