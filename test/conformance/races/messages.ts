/** What a worker process does. `worker` is its number. */
export type RaceTask = { readonly place: string; readonly worker: number } & (
  | { readonly does: 'fill a quota'; readonly calls: number; readonly maxFiles: number }
  | { readonly does: 'write until killed' }
)

/** What an object of a worker is after a write, or may be while the write runs. A temporary one is active with an end. */
export type KeyState = 'nothing' | 'pending' | 'arrived' | 'active' | 'temporary'

export type RaceMessage =
  /** The number of calls by the code of their refusal, `''` for those that succeeded. */
  | { readonly kind: 'codes'; readonly codes: Readonly<Record<string, number>> }
  /** A write of one key, or of several at once, is about to start. */
  | { readonly kind: 'start'; readonly keys: readonly string[]; readonly to: KeyState }
  /** The last write of the keys was acknowledged. */
  | { readonly kind: 'done'; readonly keys: readonly string[] }
  /** The worker failed. */
  | { readonly kind: 'error'; readonly message: string }

/** All workers share one scope and one bucket. */
export const RACE_SCOPE = 'race'
export const RACE_BUCKET = 'race'
