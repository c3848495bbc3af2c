/**
 * What one scope may have at one key that it alone writes to for that scope. A call whose answer never came has
 * happened or not, so a caller of a server that crashes remembers all states that its answers allow: one, nearly always.
 */
export interface KeyState {
  /** The attempt that is pending, and its declared bytes. */
  readonly pending: Attempt | null
  /** The attempt that made the active row, and its bytes. */
  readonly active: Attempt | null
}

export interface Attempt {
  readonly id: string
  readonly bytes: number
}

/** Outcomes that a call may have in a state, as text that can be compared, with what is there afterwards. */
export type Effect = (state: KeyState) => readonly (readonly [outcome: string, next: KeyState])[]

export const NOTHING: KeyState = { pending: null, active: null }
export const NO_ROW = 'no row'
export const rowOutcome = (status: string, { id, bytes }: Attempt) => `${status} ${id} of ${bytes} bytes`

/** The calls that a caller makes for keys of its own, each with all that the contract allows it to answer. */
export const EFFECTS = {
  reserve: (attempt: Attempt): Effect => {
    const answer = rowOutcome('pending', attempt)
    return (state) => {
      // A repeat.
      if (state.pending?.id === attempt.id) return [[answer, state]]
      const reserved: [string, KeyState][] = [
        [answer, { ...state, pending: attempt }],
        ['QUOTA_EXCEEDED', state],
      ]
      // Who has something at a key can't lose it to another scope.
      return state.pending || state.active ? reserved : [...reserved, ['KEY_CONFLICT', state]]
    }
  },

  confirm: (attempt: Attempt): Effect => {
    const answer = rowOutcome('active', attempt)
    return (state) => {
      if (state.pending?.id === attempt.id) {
        const confirmed = { pending: null, active: attempt }
        if (attempt.bytes <= state.pending.bytes) return [[answer, confirmed]]
        return [
          [answer, confirmed],
          ['QUOTA_EXCEEDED', state],
        ]
      }
      const repeated = state.active?.id === attempt.id && state.active.bytes === attempt.bytes
      return [[repeated ? answer : 'OBJECT_NOT_FOUND', state]]
    }
  },

  release: (id: string): Effect => {
    return (state) =>
      state.pending?.id === id
        ? [[rowOutcome('pending', state.pending), { ...state, pending: null }]]
        : [[NO_ROW, state]]
  },

  /** `activeStatus`: of the row as it is answered, `deleted` where history is kept. */
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

/** What may be there after this answer; nothing is left where the answer is impossible. */
export function statesAfter(states: readonly KeyState[], effect: Effect, answer: string): KeyState[] {
  return distinct(
    states.flatMap((state) =>
      effect(state)
        .filter(([outcome]) => outcome === answer)
        .map(([, next]) => next),
    ),
  )
}

/** What may be there after a call without an answer. */
export function statesAfterSilence(states: readonly KeyState[], effect: Effect): KeyState[] {
  return distinct([...states, ...states.flatMap((state) => effect(state).map(([, next]) => next))])
}

function distinct(states: readonly KeyState[]): KeyState[] {
  return [...new Map(states.map((state) => [JSON.stringify(state), state])).values()]
}
