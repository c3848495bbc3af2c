import fc from 'fast-check'
import type { Leftover, StorageObject } from '../../../src/core/store/records.js'
import { END_OF_TIME, HOUR, SECOND } from '../clock.js'
import { valueOf } from '../outcome.js'
import { often, type Choice } from './choices.js'

/** Milliseconds from now. */
export const beforeFromNow: Choice<number, Date> = {
  arbitrary: fc.constantFrom(0, 1, -1, HOUR, -SECOND),
  resolve: (milliseconds, { script }) => script.clock.in(milliseconds),
}

/** Milliseconds from the oldest deletion, or from now if there is no history. `null` leaves the date out. */
export const beforeFromOldest: Choice<number | null, Date | undefined> = {
  arbitrary: fc.constantFrom(HOUR, HOUR, SECOND, 0, -1, 1, null),
  resolve(milliseconds, { script: { model, clock } }) {
    if (milliseconds === null) return undefined
    const deletions = model.rows.flatMap(({ deletedAt }) => deletedAt?.getTime() ?? [])
    const oldest = deletions.length > 0 ? Math.min(...deletions) : clock.time
    return new Date(oldest + milliseconds)
  },
}

/** The id of a deleted row, else of any attempt, by number. */
export const deletedId: Choice<number, string> = {
  arbitrary: fc.nat(3),
  resolve: (number, { script }) =>
    script.model.rows.filter(({ status }) => status === 'deleted')[number]?.id ??
    script.attempts[number]?.id ??
    script.freshId('early'),
}

/** One of the expired rows, by number. */
export const expiredPosition = often<number, StorageObject | undefined>({
  arbitrary: fc.nat(3),
  resolve: (number, { script }) => valueOf(script.model.listExpired({}))[number],
})

/** The date up to which leftovers are due, in milliseconds from now. */
export const dueBefore: Choice<number, Date> = {
  arbitrary: fc.constantFrom(0, 0, 1, -1, HOUR, -HOUR),
  resolve: (milliseconds, { script }) => script.clock.in(milliseconds),
}

/** When a leftover is next due, in milliseconds from now, or the last date that the contract allows. */
export const until: Choice<number | 'longest', Date> = {
  arbitrary: fc.constantFrom(0, 1, -1, SECOND, HOUR, HOUR, -HOUR, 'longest' as const),
  resolve: (chosen, { script }) => (chosen === 'longest' ? END_OF_TIME : script.clock.in(chosen)),
}

/** One of the leftovers, by number. */
export const leftoverPosition = often<number, Leftover | undefined>({
  arbitrary: fc.nat(3),
  resolve: (number, { script }) => valueOf(script.model.listLeftovers({}))[number],
})

/** The attempt of a leftover, else any attempt, by number. */
export const leftoverAttempt: Choice<number, string> = {
  arbitrary: fc.nat(3),
  resolve: (number, { script }) =>
    valueOf(script.model.listLeftovers({}))[number]?.attemptId ??
    script.attempts[number]?.id ??
    script.freshId('early'),
}
