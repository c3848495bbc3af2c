import fc from 'fast-check'
import type { EndedObjectInput, KeptObjectInput } from '../../../src/core/store/contract.js'
import type { StorageObject } from '../../../src/core/store/records.js'
import { END_OF_TIME, HOUR, MINUTE, SECOND } from '../clock.js'
import { valueOf } from '../outcome.js'
import { literal, often, rarely, type Choice, type Here } from './choices.js'
import type { ChangeChoice } from './object-choices.js'

// The fields of calls about objects with an end, and about attempts that wait for their check

/** Multiples of what the clock moves by, so that ends are met to the millisecond. */
export const temporarySeconds = rarely(literal(fc.constantFrom<number[]>(1, 60, 60, 3600, 31_536_000)))
export const checkSeconds = rarely(literal(fc.constantFrom<number[]>(60, 3600)))

export const changedSeconds: Choice<ChangeChoice<number>, number | null | undefined> = {
  arbitrary: fc.oneof(
    { weight: 3, arbitrary: fc.constant('left out' as const) },
    { weight: 1, arbitrary: fc.record({ set: fc.constantFrom(1, 60, 3600, null) }) },
  ),
  resolve: (chosen) => (chosen === 'left out' ? undefined : chosen.set),
}

export const reason = literal(fc.constantFrom(null, 'a virus', 'too large to scan'))

/** Milliseconds from now, or the last date that the contract allows. */
export const endsBefore: Choice<number | 'longest', Date> = {
  arbitrary: fc.constantFrom(0, 1, -1, -MINUTE, SECOND, HOUR, 'longest' as const),
  resolve: (chosen, { script }) => (chosen === 'longest' ? END_OF_TIME : script.clock.in(chosen)),
}

const temporaryRows = ({ script }: Here) => valueOf(script.model.listTemporary({ before: END_OF_TIME }))

/** One of the temporary objects, by number. */
export const temporaryPosition = often<number, StorageObject | undefined>({
  arbitrary: fc.nat(3),
  resolve: (number, here) => temporaryRows(here)[number],
})

/** One of the arrived attempts, by number. */
export const arrivedPosition = often<number, StorageObject | undefined>({
  arbitrary: fc.nat(3),
  resolve: (number, { script }) => valueOf(script.model.listArrived({}))[number],
})

export interface KeptChoice {
  /** A live row, by number. */
  readonly row: number
  readonly by: 'id' | 'attemptId'
  /** Whether its attempt is named as well, or another one. */
  readonly attempt: 'none' | 'own' | 'another'
}

export const keptObjects: Choice<readonly KeptChoice[], readonly KeptObjectInput[]> = {
  arbitrary: fc.array(
    fc.record({
      row: fc.nat(5),
      by: fc.constantFrom('id', 'attemptId'),
      attempt: fc.constantFrom('none', 'none', 'own', 'own', 'another'),
    }),
    { minLength: 1, maxLength: 3 },
  ),
  resolve(chosen, { script }) {
    // Those with an end, or that have arrived, come first.
    const rank = ({ temporaryUntil, arrivedAt }: StorageObject) => Number(!temporaryUntil && !arrivedAt)
    const rows = script.model.rows.filter(({ status }) => status !== 'deleted')
    const sorted = rows.toSorted((a, b) => rank(a) - rank(b))
    return chosen.map(({ row, by, attempt }) => {
      const named = sorted[row % Math.max(1, sorted.length)]
      const id = named?.[by] ?? script.freshId('early')
      if (attempt === 'none') return { id }
      return { id, attemptId: attempt === 'own' ? named?.attemptId : script.freshId('early') }
    })
  },
}

export interface EndedChoice {
  /** A temporary object, by number. */
  readonly row: number
  /** What has changed since the object was listed. */
  readonly stale: 'nothing' | 'end' | 'attempt'
}

export const endedObjects: Choice<readonly EndedChoice[], readonly EndedObjectInput[]> = {
  arbitrary: fc.array(
    fc.record({
      row: fc.nat(2),
      stale: fc.constantFrom('nothing', 'nothing', 'nothing', 'nothing', 'end', 'attempt'),
    }),
    { minLength: 1, maxLength: 3 },
  ),
  resolve(chosen, here) {
    const rows = temporaryRows(here)
    const different = [...new Map(chosen.map((each) => [each.row % Math.max(1, rows.length), each])).values()]
    return different.map(({ row, stale }) => {
      const id = here.script.freshId('early')
      const nothing = { ...here.reference, id, attemptId: id, temporaryUntil: here.script.clock.now() }
      const { bucket, key, ...named } = rows[row % Math.max(1, rows.length)] ?? nothing
      return {
        ...{ bucket, key, id: named.id },
        attemptId: stale === 'attempt' ? id : named.attemptId,
        temporaryUntil:
          stale === 'end' ? new Date(named.temporaryUntil!.getTime() + 1) : named.temporaryUntil,
      }
    })
  },
}

/** The ids of temporary objects, by number. */
export const keptIds: Choice<readonly number[], readonly string[] | undefined> = {
  arbitrary: fc.oneof(
    { weight: 2, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(fc.nat(2), { minLength: 1, maxLength: 2 }) },
  ),
  resolve(chosen, here) {
    const rows = temporaryRows(here)
    return chosen.flatMap((number) => rows[number % Math.max(1, rows.length)]?.id ?? [])
  },
}
