import type * as clientExports from '@svc/db/client'
import type * as uploadExports from '@svc/db/uploads'
import { until } from '../until.js'

declare global {
  interface Window {
    client: typeof clientExports
    uploads: typeof uploadExports
    queue: uploadExports.UploadQueue
    /** Who is signed in. Default: `ada`. */
    signedIn: string | undefined
    /** Called once a frame at most. */
    heard: number
  }
}

/** What tests drive a page with: a page of Playwright, or a tab of any engine. */
interface Evaluates {
  evaluate<Result, Argument>(
    call: (argument: Argument) => Result | Promise<Result>,
    argument: Argument,
  ): Promise<Result>
}

export interface FilesToAdd {
  readonly count: number
  /** Bytes of each. */
  readonly size: number
}

/** Has the page create a queue with a listener, if it has none, and add files that it makes: always the same ones. */
export function addFiles(page: Evaluates, files: FilesToAdd): Promise<void> {
  return page.evaluate(({ count, size }: FilesToAdd) => {
    if (!window.queue) {
      const account = () => window.signedIn ?? 'ada'
      const headers = () => ({ 'x-user': account() })
      const { api } = window.client.createS3Client({ plugins: [], account, headers })
      window.queue = window.uploads.createUploadQueue(api)
      window.heard = 0
      window.queue.subscribe(() => void (window.heard += 1))
    }
    const bytes = new Uint8Array(size)
    for (let at = 0; at < size; at++) bytes[at] = at % 251
    window.queue.add(
      Array.from({ length: count }, (_, index) => new File([bytes], `${index}.bin`, { lastModified: 1 })),
    )
  }, files)
}

/** Calls a function of the queue. */
export const call = (page: Evaluates, name: 'pause' | 'resume' | 'retry' | 'cancel'): Promise<void> =>
  page.evaluate((each) => window.queue[each](), name)

export async function snapshotOf(page: Evaluates): Promise<uploadExports.UploadQueueSnapshot> {
  // As text, because drivers carry objects only down to some depth.
  const text = await page.evaluate(() => JSON.stringify(window.queue.getSnapshot()), undefined)
  return JSON.parse(text) as uploadExports.UploadQueueSnapshot
}

/** Waits until all files have these states, in their order. */
export function untilStates(page: Evaluates, states: readonly string[]): Promise<void> {
  return until(async () => {
    const { items } = await snapshotOf(page)
    return items.map(({ state }) => state).join() === states.join()
  })
}
