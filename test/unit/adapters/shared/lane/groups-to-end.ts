import { createLane, type LaneOptions } from '../../../../../src/adapters/shared/lane/lane.js'
import type { Job } from '../../../../../src/adapters/shared/lane/waiting-jobs.js'

export interface NamedJob extends Job {
  readonly name: string
}

export const UNDONE = new Error('undone')
export const LOST_TURN = new Error('lost its turn')

/** Waits until all pending promise callbacks have run, and those that they scheduled. */
export async function turn(): Promise<void> {
  for (let i = 0; i < 2; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** What a lane needs of a database in which no key is ever held. */
export const options = {
  tooLate: () => null,
  wasUndone: (error: unknown) => error === UNDONE,
  hold: () => Promise.reject(new Error('No key is held.')),
  counts: 'groups',
  untilNextCalls: () => Promise.resolve(),
} as const

/** Creates a lane whose groups a test ends, with their results or with an error. */
export function groupsToEnd(more: Partial<LaneOptions<NamedJob, string>> = {}) {
  const started: { readonly names: readonly string[]; readonly end: (error?: Error) => Promise<void> }[] = []
  const lane = createLane<NamedJob, string>({
    ...options,
    run: (jobs) =>
      new Promise((resolve, reject) => {
        const names = jobs.map(({ name }) => name)
        const end = (error?: Error) => {
          if (error) reject(error)
          else resolve(names.map((name) => `${name} done`))
          return turn()
        }
        started.push({ names, end })
      }),
    ...more,
  })
  return {
    lane,
    started,
    names: () => started.map(({ names }) => names.join(' ')),
    add: (name: string, scopes: readonly string[] = [name], key = `key of ${name}`) =>
      lane.add({ name, key, scopes }),
  }
}
