import { randomUUID } from 'node:crypto'
import { access, open, readdir, readFile, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { StoredPart } from '../../core/object-storage.js'
import type { ByteShelf } from '../signed-urls/byte-shelf.js'
import type { PartShelf, UploadDescription, UploadPlace } from '../signed-urls/part-shelf.js'
import { removeAbandonedDrafts } from './abandoned-drafts.js'
import { createWhole, replaceWhole } from './create-whole.js'
import type { DiskLayout } from './disk-layout.js'
import { ensureFolder, syncFolder } from './durable-folder.js'
import { isMissing } from './file-errors.js'
import { bytesOfParts, OtherParts } from './joined-parts.js'
import { readDescription, writeObject } from './object-file.js'

/*
 * The files of an upload lie in one folder and begin with one name: its description (`<name>.upload`), and each part
 * (`<name>.<number>`), which is a file like that of an object. An upload is there as long as any of its files is, so that
 * whatever a process that was killed has left can be listed and aborted; and it takes parts as long as its description is.
 */

const DESCRIPTION = 'upload'

/** What this storage gives out, and nothing else gets near a file name. */
const UPLOAD_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Keeps each part in a file of its own until they are copied into that of their object. */
export function createDiskPartShelf(layout: DiskLayout, objects: ByteShelf): PartShelf {
  async function isCompleted({ bucket, key }: UploadPlace): Promise<boolean> {
    return (await objects.describe(bucket, key)) !== null
  }

  /** `null`: it isn't there, or has no description (any more). */
  async function descriptionOf(place: UploadPlace): Promise<UploadDescription | null> {
    await layout.prepare()
    if (!UPLOAD_ID.test(place.uploadId) || (await isCompleted(place))) return null
    try {
      return JSON.parse(await readFile(pathOf(layout, place, DESCRIPTION), 'utf8')) as UploadDescription
    } catch (error) {
      if (!isMissing(error)) throw error
      await access(layout.uploads)
      return null
    }
  }

  /** The endings of the names that the files of an upload have; none where it isn't there. */
  async function endingsOf({ bucket, key, uploadId }: UploadPlace): Promise<string[]> {
    if (!UPLOAD_ID.test(uploadId)) return []
    const names = await namesAt(bucket, key)
    return names
      .filter((name) => name.startsWith(`${uploadId}.`))
      .map((name) => name.slice(uploadId.length + 1))
  }

  /** What follows the prefix in the names of all files at a place. */
  async function namesAt(bucket: string, key: string): Promise<string[]> {
    await layout.prepare()
    const { folder, prefix } = layout.uploadFiles(bucket, key)
    try {
      const names = await readdir(folder)
      return names.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length))
    } catch (error) {
      if (!isMissing(error)) throw error
      await access(layout.uploads)
      return []
    }
  }

  /** The description goes last: until then the rest can still be found by the upload's id. */
  async function removeFiles(place: UploadPlace): Promise<void> {
    const endings = await endingsOf(place)
    const parts = endings.filter((ending) => ending !== DESCRIPTION)
    for (const ending of parts) await unlinkIfThere(pathOf(layout, place, ending))
    if (endings.includes(DESCRIPTION)) await unlinkIfThere(pathOf(layout, place, DESCRIPTION))
    if (endings.length > 0) await syncFolder(layout.uploadFiles(place.bucket, place.key).folder)
  }

  return {
    async begin(bucket, key, { contentType, attemptId }) {
      await layout.prepare()
      const place = { bucket, key, uploadId: randomUUID() }
      await ensureFolder(layout.uploadFiles(bucket, key).folder)
      await createWhole({
        path: pathOf(layout, place, DESCRIPTION),
        drafts: layout.drafts,
        write: (file) => file.writeFile(`${JSON.stringify({ bucket, key, contentType, attemptId })}\n`),
      })
      return place.uploadId
    },

    isOpen: async (place) => (await descriptionOf(place)) !== null,

    async write(place, partNumber, chunks) {
      const description = await descriptionOf(place)
      if (!description) return null
      const path = pathOf(layout, place, String(partNumber))
      let eTag: string | null = null
      await replaceWhole({
        path,
        drafts: layout.drafts,
        async write(file) {
          await removeAbandonedDrafts(layout.drafts, (await file.stat()).mtimeMs)
          eTag = await writeObject(file, place, { chunks, ...description })
        },
      })
      // Whoever ended the upload meanwhile may not have seen this file.
      if (await descriptionOf(place)) return eTag
      await unlinkIfThere(path)
      return null
    },

    async list(place) {
      const endings = await endingsOf(place)
      if (endings.length === 0) return null
      if (await isCompleted(place)) {
        // Whoever completed it was stopped before this.
        await removeFiles(place)
        return null
      }
      const numbers = endings.filter((ending) => ending !== DESCRIPTION).map(Number)
      const parts: StoredPart[] = []
      for (const partNumber of numbers.sort((one, other) => one - other)) {
        const stored = await storedPart(pathOf(layout, place, String(partNumber)))
        if (stored) parts.push({ partNumber, ...stored })
      }
      return parts
    },

    async complete(place, parts) {
      const description = await descriptionOf(place)
      if (!description) return false
      const files = parts.map(({ partNumber, eTag }) => ({
        path: pathOf(layout, place, String(partNumber)),
        eTag,
      }))
      const isAborted = async () => (await descriptionOf(place)) === null
      try {
        const chunks = bytesOfParts(files, isAborted)
        const eTag = await objects.create(place.bucket, place.key, { chunks, ...description })
        if (eTag === null) return false
      } catch (error) {
        if (error instanceof OtherParts) return false
        throw error
      }
      // The object is there, so that the upload has ended; what can't be removed now costs room and nothing else.
      await removeFiles(place).catch(() => undefined)
      return true
    },

    abort: removeFiles,

    async uploads(bucket, key) {
      if ((await objects.describe(bucket, key)) !== null) return []
      const ids = (await namesAt(bucket, key)).map((name) => name.slice(0, name.indexOf('.')))
      return [...new Set(ids)]
    },
  }
}

function pathOf(layout: DiskLayout, { bucket, key, uploadId }: UploadPlace, ending: string): string {
  const { folder, prefix } = layout.uploadFiles(bucket, key)
  return join(folder, `${prefix}${uploadId}.${ending}`)
}

/** `null` where it has vanished. */
async function storedPart(path: string): Promise<Omit<StoredPart, 'partNumber'> | null> {
  const file = await open(path, 'r').catch((error: unknown) => {
    if (isMissing(error)) return null
    throw error
  })
  if (!file) return null
  try {
    const { size, eTag } = await readDescription(file)
    return { size, eTag }
  } finally {
    await file.close()
  }
}

async function unlinkIfThere(path: string): Promise<void> {
  try {
    await unlink(path)
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}
