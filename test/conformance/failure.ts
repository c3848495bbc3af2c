/** Thrown when a store breaks the contract. */
export class ConformanceFailure extends Error {
  override readonly name = 'ConformanceFailure'
}

/** Thrown by a call of a store that has not responded in time. */
export class NoResponse extends ConformanceFailure {}
