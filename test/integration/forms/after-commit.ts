import { execFile } from 'node:child_process'
import { cleanUp, type StorageObjectStore } from '@svc/db'
import { expect, it } from 'vitest'
import { BUCKET, formServer, STEPS_AFTER_COMMIT, type FormAfterCommit } from './form-server.js'

const MINUTE = 60_000

export interface AfterCommitSetting {
  readonly url: string
  readonly namespace: string
  /** The bundled program that saves a form and dies. */
  readonly program: () => string
  readonly open: (now?: () => Date) => StorageObjectStore
  /** Returns which of the files the saved forms have, by the driver alone. */
  readonly usedAmong: (ids: string[]) => Promise<string[]>
}

/** Registers tests that kill the process between the steps. */
export function itSavesFormsAfterCommit({
  url,
  namespace,
  program,
  open,
  usedAmong,
}: AfterCommitSetting): void {
  let count = 0

  it.each(STEPS_AFTER_COMMIT)(
    'never loses the file of a saved form, nor keeps that of another, if the process is killed once it has %s',
    // Ten kills of each step.
    { repeats: 9 },
    async (diesAfter) => {
      const scope = `user:${count++}`
      const at = { bucket: BUCKET, key: `${diesAfter} ${count}`, scope }
      const expiresAt = new Date(Date.now() + MINUTE)
      const { id } = await open().reserve({ ...at, declaredSize: 3, expiresAt, temporarySeconds: 60 })
      await open().confirm({ ...at, id, size: 3 })
      const form: FormAfterCommit = { url, namespace, scope, id, diesAfter }
      const { end, printed } = await new Promise<{ end: unknown; printed: string }>((resolve) => {
        const child = execFile(
          process.execPath,
          [program(), JSON.stringify(form)],
          (_error, _stdout, stderr) => resolve({ end: child.signalCode ?? child.exitCode, printed: stderr }),
        )
      })
      expect(end, printed).toBe('SIGKILL')

      const isSaved = diesAfter !== 'begun'
      expect(await usedAmong([id])).toEqual(isSaved ? [id] : [])
      const later = () => new Date(Date.now() + 10 * MINUTE)
      const s3 = formServer(open(later), usedAmong, later)
      expect((await cleanUp(s3)).temporary).toMatchObject({
        removed: isSaved ? 0 : 1,
        kept: diesAfter === 'saved' ? 1 : 0,
      })
      const row = await open().findActive(at)
      expect(row?.temporaryUntil).toBe(isSaved ? null : undefined)
      expect((await cleanUp(s3)).temporary).toEqual({ removed: 0, kept: 0, failed: 0 })
      expect(await open().checkUsage()).toEqual([])
    },
  )
}
