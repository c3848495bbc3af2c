/** An input that may be left out. `null` means the same, except where a field of `UpdateInput` is cleared. */
export type Maybe<T> = T | null | undefined
