const ATTEMPT_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

export function isAttemptId(value: unknown): value is string {
  return typeof value === 'string' && ATTEMPT_ID.test(value)
}

/**
 * Returns the UUIDv7 of a time and a number, the same in every run. The suite doesn't use `createAttemptId` because it
 * needs ids older and newer than those that stores make.
 */
export function attemptIdOf(time: number, number: number): string {
  const hex = time.toString(16).padStart(12, '0') + number.toString(16).padStart(18, '0')
  const [high, low, sequence, variant, tail] = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 15),
    hex.slice(15, 18),
    hex.slice(18),
  ]
  return `${high}-${low}-7${sequence}-8${variant}-${tail}`
}

/** Long before the clocks of the tests: these ids sort before those that a store makes. */
export const EARLY_IDS = Date.UTC(2001, 0, 1)
/** Long after them: these ids sort after those that a store makes. */
export const LATE_IDS = Date.UTC(2400, 0, 1)
