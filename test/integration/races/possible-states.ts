/**
 * A possible state of one key that a single caller writes for one scope. A call whose response was lost may or may not
 * have taken effect, so the caller keeps every state that its responses allow. Usually that is one.
 */
export interface KeyState {
  /** The pending attempt and its declared bytes. */
  readonly pending: Attempt | null
  /** The attempt behind the active row and its bytes. */
  readonly active: Attempt | null
}

export interface Attempt {
  readonly id: string
  readonly bytes: number
}

/** Returns every outcome that a call may have in a state, as comparable text, with the state that follows. */
export type Effect = (state: KeyState) => readonly (readonly [outcome: string, next: KeyState])[]

export const NOTHING: KeyState = { pending: null, active: null }
export const NO_ROW = 'no row'
export const rowOutcome = (status: string, { id, bytes }: Attempt) => `${status} ${id} of ${bytes} bytes`

/** The calls of a caller on its own keys, with every outcome that the contract allows. */
export const EFFECTS = {
  reserve: (attempt: Attempt): Effect => {
    const outcome = rowOutcome('pending', attempt)
    return (state) => {
      // A repeated call.
      if (state.pending?.id === attempt.id) return [[outcome, state]]
      const reserved: [string, KeyState][] = [
        [outcome, { ...state, pending: attempt }],
        ['QUOTA_EXCEEDED', state],
      ]
      // A scope can't lose a key that it holds.
      return state.pending || state.active ? reserved : [...reserved, ['KEY_CONFLICT', state]]
    }
  },

  confirm: (attempt: Attempt): Effect => {
    const outcome = rowOutcome('active', attempt)
    return (state) => {
      if (state.pending?.id === attempt.id) {
        const confirmed = { pending: null, active: attempt }
        if (attempt.bytes <= state.pending.bytes) return [[outcome, confirmed]]
        return [
          [outcome, confirmed],
          ['QUOTA_EXCEEDED', state],
        ]
      }
      const repeated = state.active?.id === attempt.id && state.active.bytes === attempt.bytes
      return [[repeated ? outcome : 'OBJECT_NOT_FOUND', state]]
    }
  },

  release: (id: string): Effect => {
    return (state) =>
      state.pending?.id === id
        ? [[rowOutcome('pending', state.pending), { ...state, pending: null }]]
        : [[NO_ROW, state]]
  },

  /** `activeStatus` is the status of the returned row: `deleted` for a soft removal. */
  remove: (activeStatus: 'active' | 'deleted'): Effect => {
    return ({ pending, active }) => {
      if (active) return [[rowOutcome(activeStatus, active), NOTHING]]
      return [[pending ? rowOutcome('pending', pending) : NO_ROW, NOTHING]]
    }
  },

  find: (state: KeyState): ReturnType<Effect> => {
    const { pending, active } = state
    if (active) return [[rowOutcome('active', active), state]]
    return [[pending ? rowOutcome('pending', pending) : NO_ROW, state]]
  },

  findPending: (state: KeyState): ReturnType<Effect> => {
    return [[state.pending ? rowOutcome('pending', state.pending) : NO_ROW, state]]
  },
} as const

/** Returns the possible states after a call with this outcome, or none if the outcome is impossible. */
export function statesAfter(states: readonly KeyState[], effect: Effect, actual: string): KeyState[] {
  return distinct(
    states.flatMap((state) =>
      effect(state)
        .filter(([outcome]) => outcome === actual)
        .map(([, next]) => next),
    ),
  )
}

/** Returns the possible states after a call whose response was lost. */
export function statesAfterLostResponse(states: readonly KeyState[], effect: Effect): KeyState[] {
  return distinct([...states, ...states.flatMap((state) => effect(state).map(([, next]) => next))])
}

function distinct(states: readonly KeyState[]): KeyState[] {
  return [...new Map(states.map((state) => [JSON.stringify(state), state])).values()]
}
