import { access, open, readdir, readFile, unlink, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import type { StoredPart } from '../../core/object-storage.js'
import {
  PartChangedError,
  type Description,
  type PartStore,
  type UploadReference,
} from '../local/contract.js'
import { writeAtomically } from './atomic-file.js'
import { ensureFolder, nullIfMissing, syncFolder } from './file-system.js'
import type { DiskLayout } from './layout.js'
import { describeFile, readDescription, writeObject } from './object-file.js'
import type { StartSweep } from './sweep.js'

/*
 * The files of an upload share a folder and a name: the description is `<name>.upload`, and each part is `<name>.<number>`,
 * in the format of an object's file. An upload exists as long as it has any file, so the files of a killed process can
 * be listed and aborted. It accepts parts as long as it has a description.
 */

const DESCRIPTION = 'upload'

/** Stores each part in its own file, until the parts are copied into the file of their object. */
export function createDiskPartStore(layout: DiskLayout, startSweep: StartSweep): PartStore {
  function pathOf({ bucket, key, uploadId }: UploadReference, suffix: string | number): string {
    const { folder, prefix } = layout.uploadFiles(bucket, key)
    return join(folder, `${prefix}${uploadId}.${suffix}`)
  }

  /** Returns the file names of all uploads to a key, without their common prefix. */
  async function namesOf(bucket: string, key: string): Promise<string[]> {
    await layout.prepare()
    const { folder, prefix } = layout.uploadFiles(bucket, key)
    const names = await nullIfMissing(readdir(folder))
    // If the whole directory is gone, report an error instead of a missing upload.
    if (names === null) await access(layout.uploads)
    return (names ?? []).filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length))
  }

  /** Returns the suffixes of the file names of an upload: `upload` and part numbers. */
  async function suffixesOf({ bucket, key, uploadId }: UploadReference): Promise<string[]> {
    const names = await namesOf(bucket, key)
    return names
      .filter((name) => name.startsWith(`${uploadId}.`))
      .map((name) => name.slice(uploadId.length + 1))
  }

  return {
    async begin(upload, { contentType, attemptId }) {
      const { bucket, key } = upload
      await layout.prepare()
      await ensureFolder(layout.uploadFiles(bucket, key).folder)
      startSweep()
      const text = `${JSON.stringify({ bucket, key, contentType, attemptId })}\n`
      const write = (file: FileHandle) => file.writeFile(text)
      await writeAtomically({ path: pathOf(upload, DESCRIPTION), drafts: layout.drafts, write })
    },

    async describe(upload) {
      await layout.prepare()
      const text = await nullIfMissing(readFile(pathOf(upload, DESCRIPTION), 'utf8'))
      if (text !== null) return JSON.parse(text) as Description
      await access(layout.uploads)
      return null
    },

    write: (upload, partNumber, content) =>
      writeAtomically({
        path: pathOf(upload, partNumber),
        drafts: layout.drafts,
        replace: true,
        write: (file) => writeObject(file, upload, content),
        beforePublishing: content.beforePublishing,
      }),

    async list(upload) {
      const suffixes = await suffixesOf(upload)
      if (suffixes.length === 0) return null
      const parts: StoredPart[] = []
      for (const suffix of suffixes) {
        if (suffix === DESCRIPTION) continue
        // Null if it was removed in between.
        const found = await nullIfMissing(describeFile(pathOf(upload, suffix)))
        if (found) parts.push({ partNumber: Number(suffix), size: found.size, eTag: found.eTag })
      }
      return parts
    },

    async *read(upload, { partNumber, eTag }) {
      const file = await nullIfMissing(open(pathOf(upload, partNumber), 'r'))
      if (!file) throw new PartChangedError()
      try {
        const description = await readDescription(file)
        if (description.eTag !== eTag) throw new PartChangedError()
        if (description.size === 0) return
        yield* file.createReadStream({ start: 0, end: description.size - 1, autoClose: false })
      } finally {
        await file.close()
      }
    },

    /** Removes the description last: if this stops halfway, the remaining files can still be found by the upload id. */
    async remove(upload) {
      const suffixes = await suffixesOf(upload)
      const parts = suffixes.filter((suffix) => suffix !== DESCRIPTION)
      for (const suffix of parts) await nullIfMissing(unlink(pathOf(upload, suffix)))
      if (suffixes.includes(DESCRIPTION)) await nullIfMissing(unlink(pathOf(upload, DESCRIPTION)))
      if (suffixes.length > 0) await syncFolder(layout.uploadFiles(upload.bucket, upload.key).folder)
    },

    async uploads(bucket, key) {
      const ids = (await namesOf(bucket, key)).map((name) => name.slice(0, name.indexOf('.')))
      return [...new Set(ids)]
    },
  }
}
