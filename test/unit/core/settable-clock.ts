/** A clock that stands still until the test moves it. */
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

/** Returns the date this many milliseconds after the start of the clock. */
export function afterNoon(milliseconds: number): Date {
  return new Date(NOON.getTime() + milliseconds)
}
