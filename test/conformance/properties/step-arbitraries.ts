import fc from 'fast-check'
import { HOUR, MINUTE, SECOND } from '../clock.js'
import type { AttemptChoice, QuotaChoice, SizeChoice } from './steps.js'
import { metadata, text } from './texts.js'
import type { Place } from './vocabulary.js'

/** Small ones, which add up to the quotas below, and those at which integers of some databases end. */
const size = fc.oneof(
  { weight: 8, arbitrary: fc.nat(12) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      2 ** 31 - 1,
      2 ** 31,
      2 ** 32,
      Number.MAX_SAFE_INTEGER - 1,
      Number.MAX_SAFE_INTEGER,
    ),
  },
)

export function place(...having: Place['having'][]): fc.Arbitrary<Place> {
  return fc.record({
    // Mostly the same place, so that calls meet.
    bucket: fc.constantFrom(0, 0, 0, 1),
    key: fc.constantFrom(0, 0, 0, 1, 1, 2),
    having: fc.constantFrom(...having),
  })
}

export const scope = fc.constantFrom(0, 0, 0, 0, 0, 0, 1, 1, 2)
const word = fc.nat(1)

/** Left out in so many of a hundred cases. */
function leftOut<T>(percent: number, arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> {
  return fc.oneof(
    { withCrossShrink: true },
    { weight: percent, arbitrary: fc.constant(null) },
    { weight: 100 - percent, arbitrary },
  )
}
const rarely = <T>(arbitrary: fc.Arbitrary<T>) => leftOut(80, arbitrary)
const often = <T>(arbitrary: fc.Arbitrary<T>) => leftOut(40, arbitrary)

const limit = often(fc.constantFrom(1, 1, 2, 3))
export const status = fc.constantFrom(null, 'pending', 'active', 'deleted' as const)

const attempt: fc.Arbitrary<AttemptChoice> = fc.oneof(
  { weight: 6, arbitrary: fc.constant('pending' as const) },
  { weight: 3, arbitrary: fc.constant('none' as const) },
  { weight: 1, arbitrary: fc.constantFrom('active' as const, 'activeAttempt' as const) },
  { weight: 2, arbitrary: fc.record({ made: fc.nat(20) }) },
)

const sizeThere: fc.Arbitrary<SizeChoice> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('pending' as const, 'active' as const) },
  { weight: 2, arbitrary: fc.record({ morePending: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 1, arbitrary: size },
)

const quota: fc.Arbitrary<QuotaChoice> = leftOut(
  65,
  fc.record({
    bytes: often(fc.integer({ min: -1, max: 20 })),
    files: often(fc.integer({ min: -1, max: 3 })),
  }),
)

export const reserveStep = fc.record({
  call: fc.constant('reserve' as const),
  scope,
  at: place(null, null, 'active', 'pending'),
  declaredSize: size,
  lasts: fc.constantFrom(HOUR, HOUR, HOUR, 1, SECOND, 24 * HOUR, 'longest' as const),
  id: fc.constantFrom(
    'none' as const,
    'none' as const,
    'early' as const,
    'late' as const,
    'pending' as const,
    'active' as const,
    'activeAttempt' as const,
  ),
  storageKey: fc.constantFrom(
    'none' as const,
    'own' as const,
    'own' as const,
    'pending' as const,
    'active' as const,
  ),
  uploadId: rarely(word),
  overwrite: fc.constantFrom(null, null, true, false),
  quota,
  route: often(word),
  filename: rarely(text),
  contentType: rarely(text),
  metadata: rarely(metadata),
})

export const confirmStep = fc.record({
  call: fc.constant('confirm' as const),
  at: place(null, 'pending', 'pending', 'pending', 'active'),
  id: attempt,
  scope: rarely(scope),
  size: sizeThere,
  eTag: often(fc.oneof(word, fc.constant('active' as const))),
  contentType: rarely(text),
  quota,
})

export const clockStep = fc.record({
  call: fc.constant('clock' as const),
  by: fc.constantFrom(1, SECOND, MINUTE, HOUR, -1, -SECOND, -MINUTE),
})

export const clockToExpiryStep = fc.record({
  call: fc.constant('clockToExpiry' as const),
  at: place(null, 'pending', 'pending'),
  by: fc.constantFrom(0, 0, -1, 1),
})

export const releaseStep = fc.record({
  call: fc.constant('release' as const),
  at: place(null, 'pending'),
  id: attempt,
  scope: rarely(scope),
  uploadId: rarely(word),
})

export const removeStep = fc.record({
  call: fc.constant('remove' as const),
  at: place(null, 'active', 'pending', 'active'),
  scope: rarely(scope),
  mode: fc.constantFrom(null, 'soft' as const, 'hard' as const),
})

export const setUploadIdStep = fc.record({
  call: fc.constant('setUploadId' as const),
  at: place(null, 'pending', 'pending'),
  id: attempt,
  uploadId: word,
})

export const purgeExpiredStep = fc.record({
  call: fc.constant('purgeExpired' as const),
  scope: rarely(scope),
  before: rarely(fc.constantFrom(0, 1, -1, HOUR, -SECOND)),
  limit,
  after: fc.constant(null),
})

export const listExpiredStep = fc.record({
  call: fc.constant('listExpired' as const),
  scope: often(scope),
  before: often(fc.constantFrom(0, 1, -1, HOUR, -SECOND)),
  limit,
  after: often(fc.nat(3)),
})

export const listStep = fc.record({
  call: fc.constant('listByScope' as const),
  scope,
  status,
  route: rarely(word),
  limit,
  cursor: often(fc.nat(4)),
})

export const findPendingStep = fc.record({
  call: fc.constant('findPending' as const),
  at: place(null, 'pending'),
  id: attempt,
  uploadId: often(word),
})

export const multipartStep = fc.record({
  call: fc.constant('findPendingMultipart' as const),
  at: place(null, 'pending'),
  fileSize: sizeThere,
})

export const listLeftoversStep = fc.record({
  call: fc.constant('listLeftovers' as const),
  limit,
  after: often(fc.nat(3)),
})

export const forgetStep = fc.record({ call: fc.constant('forgetLeftover' as const), which: fc.nat(3) })

export const purgeDeletedStep = fc.record({
  call: fc.constant('purgeDeleted' as const),
  before: fc.constantFrom(HOUR, HOUR, SECOND, 0, -1, 1),
  limit,
})
