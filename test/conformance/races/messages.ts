/** What a worker process does. `worker` is its number. */
export type RaceTask = { readonly place: string; readonly worker: number } & (
  | { readonly does: 'fill a quota'; readonly calls: number; readonly maxFiles: number }
  | { readonly does: 'write until killed' }
)

/** What an object of a worker is after a write, or may be while the write runs. */
export type KeyState = 'nothing' | 'pending' | 'active'

export type RaceMessage =
  /** The number of calls by the code of their refusal, `''` for those that succeeded. */
  | { readonly kind: 'codes'; readonly codes: Readonly<Record<string, number>> }
  /** A write is about to start. */
  | { readonly kind: 'start'; readonly key: string; readonly to: KeyState }
  /** The last write of the key was acknowledged. */
  | { readonly kind: 'done'; readonly key: string }
  /** The worker failed. */
  | { readonly kind: 'error'; readonly message: string }

/** All workers share one scope and one bucket. */
export const RACE_SCOPE = 'race'
export const RACE_BUCKET = 'race'
