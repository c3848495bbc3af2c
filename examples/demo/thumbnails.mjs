import { StorageError } from '@svc/db'

/** The owner of all thumbnails. No user has this scope, so thumbnails are in no user's list and count towards no user's quota. */
const SCOPE = 'thumbnails'

/** Large enough for a card of the page on a screen with two pixels per CSS pixel. */
const MAX_PIXELS = 480

const isThumbnail = ({ scope }) => scope === SCOPE

/** Returns the key of a picture's thumbnail. The page builds the same key. */
const thumbnailKey = (key) => `${key}.thumbnail`

/** The image library, or `null` if this machine can't load it: the page then shows the pictures themselves. */
const sharp = await import('sharp').then(
  (module) => module.default,
  () => null,
)
export const hasThumbnails = sharp !== null

/** Handles an event: makes, replaces or removes the thumbnail of a picture. Handling it twice leaves the same thumbnail. */
export async function keepThumbnail(files, { type, object }, { signal }) {
  if (isThumbnail(object) || !object.contentType?.startsWith('image/')) return
  if (type !== 'activated' && type !== 'deleted') return
  const thumbnail = { scope: SCOPE, key: thumbnailKey(object.key) }
  // A replaced picture must not keep its old thumbnail, even if the new file can't be decoded.
  await files.delete({ ...thumbnail, mode: 'hard' })
  if (type === 'deleted' || !sharp) return
  const picture = await read(files, object, signal)
  const body = picture && (await shrink(picture))
  if (!body) return
  const metadata = { picture: object.key }
  const route = 'thumbnails'
  await files.put({ ...thumbnail, route, body, contentType: 'image/webp', metadata, quota: false, signal })
}

/** Returns the picture of a thumbnail, which decides who may see it, or `null` if it is gone. Returns other objects as they are. */
export async function pictureOf(object, objects) {
  if (!isThumbnail(object)) return object
  return objects.findActive({ bucket: object.bucket, key: object.metadata.picture })
}

/** Returns the bytes of this version, or `null` if it was replaced or deleted. A retry can't change that. */
async function read(files, { bucket, key, attemptId }, signal) {
  try {
    const { body } = await files.get({ bucket, key, attemptId, signal })
    return await new Response(body).arrayBuffer()
  } catch (error) {
    if (error instanceof StorageError && error.code === 'OBJECT_NOT_FOUND') return null
    throw error
  }
}

/** Returns a small WebP, or `null` for a file that can't be decoded. A retry can't change that. */
function shrink(picture) {
  return sharp(picture)
    .rotate()
    .resize(MAX_PIXELS, MAX_PIXELS, { fit: 'inside', withoutEnlargement: true })
    .webp()
    .toBuffer()
    .catch(() => null)
}
