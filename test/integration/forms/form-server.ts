import { createS3Server, db, memoryStorage, type StorageObjectStore } from '@svc/db'

/** The process of an application that saves forms, first the form, then the end of its file. */

export interface FormAfterCommit {
  readonly url: string
  /** Of the tables or collections, including those of the application. */
  readonly namespace: string
  readonly scope: string
  /** The id of the file. */
  readonly id: string
  /** The step after which the process dies. */
  readonly diesAfter: string
}

/** The steps, in order: before the form is saved, once it is, and once its file is kept. */
export const STEPS_AFTER_COMMIT = ['begun', 'saved', 'kept'] as const

/** Returns what the process does between two steps. */
export const dyingAfter = (step: string) => (reached: string) => {
  if (step === reached) process.kill(process.pid, 'SIGKILL')
}

export const BUCKET = 'files'

/** Creates the server of an application that saves forms, in the way that docs/forms-and-drafts.md shows. */
export function formServer(
  store: StorageObjectStore,
  usedAmong: (ids: string[]) => Promise<string[]>,
  now = () => new Date(),
) {
  return createS3Server({
    storage: memoryStorage(),
    bucket: BUCKET,
    plugins: [
      db({
        client: store,
        resolveScope: (request) => request.headers.get('x-user'),
        isUsed: (objects) => usedAmong(objects.map(({ id }) => id)),
      }),
    ],
    now,
  })
}

export const requestOf = (scope: string) => new Request('http://app.test', { headers: { 'x-user': scope } })
