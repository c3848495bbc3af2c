import { randomUUID } from 'node:crypto'
import { access, open, readdir, readFile, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { StoredPart } from '../../core/object-storage.js'
import type { ByteStore } from '../local/contract.js'
import type { PartStore, UploadDescription, UploadReference } from '../local/part-store.js'
import { createAtomically, removeAbandonedDrafts, replaceAtomically } from './atomic-file.js'
import type { DiskLayout } from './layout.js'
import { ensureFolder, nullIfMissing, syncFolder } from './file-system.js'
import { joinParts, PartsChangedError } from './join-parts.js'
import { readDescription, writeObject } from './object-file.js'

/*
 * The files of an upload share a folder and a name: the description is `<name>.upload`, and each part is `<name>.<number>`,
 * in the format of an object's file. An upload exists as long as it has any file, so the files of a killed process can
 * be listed and aborted. It accepts parts as long as it has a description.
 */

const DESCRIPTION = 'upload'

/** The format of our upload ids. No other string becomes part of a file name. */
const UPLOAD_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Stores each part in its own file, until the parts are copied into the file of their object. */
export function createDiskPartStore(layout: DiskLayout, objects: ByteStore): PartStore {
  async function isCompleted({ bucket, key }: UploadReference): Promise<boolean> {
    return (await objects.describe(bucket, key)) !== null
  }

  /** Returns `null` if the upload does not exist or has no description any more. */
  async function descriptionOf(upload: UploadReference): Promise<UploadDescription | null> {
    await layout.prepare()
    if (!UPLOAD_ID.test(upload.uploadId) || (await isCompleted(upload))) return null
    const text = await nullIfMissing(readFile(pathOf(layout, upload, DESCRIPTION), 'utf8'))
    if (text !== null) return JSON.parse(text) as UploadDescription
    await access(layout.uploads)
    return null
  }

  /** Returns the suffixes of the file names of an upload: `upload` and part numbers. */
  async function suffixesOf({ bucket, key, uploadId }: UploadReference): Promise<string[]> {
    if (!UPLOAD_ID.test(uploadId)) return []
    const names = await namesOf(bucket, key)
    return names
      .filter((name) => name.startsWith(`${uploadId}.`))
      .map((name) => name.slice(uploadId.length + 1))
  }

  /** Returns the file names of all uploads to a key, without their common prefix. */
  async function namesOf(bucket: string, key: string): Promise<string[]> {
    await layout.prepare()
    const { folder, prefix } = layout.uploadFiles(bucket, key)
    const names = await nullIfMissing(readdir(folder))
    if (names === null) {
      await access(layout.uploads)
      return []
    }
    return names.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length))
  }

  /** Removes the description last: if this stops halfway, the remaining files can still be found by the upload id. */
  async function removeFiles(upload: UploadReference): Promise<void> {
    const suffixes = await suffixesOf(upload)
    const parts = suffixes.filter((suffix) => suffix !== DESCRIPTION)
    for (const suffix of parts) await nullIfMissing(unlink(pathOf(layout, upload, suffix)))
    if (suffixes.includes(DESCRIPTION)) await nullIfMissing(unlink(pathOf(layout, upload, DESCRIPTION)))
    if (suffixes.length > 0) await syncFolder(layout.uploadFiles(upload.bucket, upload.key).folder)
  }

  return {
    async begin(bucket, key, { contentType, attemptId }) {
      await layout.prepare()
      const upload = { bucket, key, uploadId: randomUUID() }
      await ensureFolder(layout.uploadFiles(bucket, key).folder)
      await createAtomically({
        path: pathOf(layout, upload, DESCRIPTION),
        drafts: layout.drafts,
        write: (file) => file.writeFile(`${JSON.stringify({ bucket, key, contentType, attemptId })}\n`),
      })
      return upload.uploadId
    },

    isOpen: async (upload) => (await descriptionOf(upload)) !== null,

    async write(upload, partNumber, { chunks, beforePublishing }) {
      const description = await descriptionOf(upload)
      if (!description) return null
      const path = pathOf(layout, upload, String(partNumber))
      let eTag: string | null = null
      await replaceAtomically({
        path,
        drafts: layout.drafts,
        beforePublishing,
        async write(file) {
          await removeAbandonedDrafts(layout.drafts, (await file.stat()).mtimeMs)
          eTag = await writeObject(file, upload, { chunks, ...description })
        },
      })
      // If the upload ended in the meantime, the call that ended it may not have seen this file.
      if (await descriptionOf(upload)) return eTag
      await nullIfMissing(unlink(path))
      return null
    },

    async list(upload) {
      const suffixes = await suffixesOf(upload)
      if (suffixes.length === 0) return null
      if (await isCompleted(upload)) {
        // The process that completed the upload stopped before it removed these files.
        await removeFiles(upload)
        return null
      }
      const numbers = suffixes.filter((suffix) => suffix !== DESCRIPTION).map(Number)
      const parts: StoredPart[] = []
      for (const partNumber of numbers.sort((one, other) => one - other)) {
        const stored = await storedPart(pathOf(layout, upload, String(partNumber)))
        if (stored) parts.push({ partNumber, ...stored })
      }
      return parts
    },

    async complete(upload, parts) {
      const description = await descriptionOf(upload)
      if (!description) return false
      const files = parts.map(({ partNumber, eTag }) => ({
        path: pathOf(layout, upload, String(partNumber)),
        eTag,
      }))
      const isAborted = async () => (await descriptionOf(upload)) === null
      try {
        const chunks = joinParts(files, isAborted)
        const eTag = await objects.create(upload.bucket, upload.key, { chunks, ...description })
        if (eTag === null) return false
      } catch (error) {
        if (error instanceof PartsChangedError) return false
        throw error
      }
      // The object exists, so the upload has ended. Files that can't be removed now only take up space.
      await removeFiles(upload).catch(() => undefined)
      return true
    },

    abort: removeFiles,

    async uploads(bucket, key) {
      if ((await objects.describe(bucket, key)) !== null) return []
      const ids = (await namesOf(bucket, key)).map((name) => name.slice(0, name.indexOf('.')))
      return [...new Set(ids)]
    },
  }
}

function pathOf(layout: DiskLayout, { bucket, key, uploadId }: UploadReference, suffix: string): string {
  const { folder, prefix } = layout.uploadFiles(bucket, key)
  return join(folder, `${prefix}${uploadId}.${suffix}`)
}

/** Returns `null` if the file no longer exists. */
async function storedPart(path: string): Promise<Omit<StoredPart, 'partNumber'> | null> {
  const file = await nullIfMissing(open(path, 'r'))
  if (!file) return null
  try {
    const { size, eTag } = await readDescription(file)
    return { size, eTag }
  } finally {
    await file.close()
  }
}
