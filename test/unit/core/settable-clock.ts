/** The time of a test: stands still until the test sets it. */
export interface SettableClock {
  readonly now: () => Date
  set(time: Date | string): void
  advance(milliseconds: number): void
}

export const NOON = new Date('2026-03-01T12:00:00.000Z')

export function settableClock(start: Date = NOON): SettableClock {
  let time = start.getTime()
  return {
    now: () => new Date(time),
    set: (to) => {
      time = new Date(to).getTime()
    },
    advance: (milliseconds) => {
      time += milliseconds
    },
  }
}

/** A date so many milliseconds after the time at which a settable clock starts. */
export function afterNoon(milliseconds: number): Date {
  return new Date(NOON.getTime() + milliseconds)
}
