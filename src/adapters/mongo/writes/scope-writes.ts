import { createWriteBatcher } from '../../../core/store/write-batcher.js'
import { lostRace, wasAnswered } from '../connection/failures.js'
import { nobodyWaits, type Call } from '../connection/patience.js'
import type { Place } from '../connection/place.js'
import { transact, type Audience } from '../connection/transactions.js'
import { keyId } from '../documents/key-document.js'
import type { KeyWrite } from './key-write.js'
import { createScopeGuesses } from './scope-guesses.js'
import { takeTurn } from './apply-changes.js'
import { writeKeys, type KeyResult } from './write-keys.js'

interface Job {
  /** Whose lane it is in. */
  readonly scope: string
  readonly write: KeyWrite
  readonly call: Call
}

export interface ScopeWrites {
  /** Carries out a write of a scope, or of `null`: whichever has the key. */
  run(call: Call, write: KeyWrite, scope: string | null): Promise<KeyResult>
}

/**
 * Writes of one scope change one document, and of two transactions that do so MongoDB undoes one. So those that are made
 * in this process at the same time share a transaction, and only processes meet. A write that names no scope goes where
 * its key was seen last. Where that was nowhere it goes by itself; when it meets another, it has found out its lane.
 * A lane only says with whom a write goes: what it does follows from what is at the key.
 */
export function createScopeWrites(place: Place): ScopeWrites {
  const guesses = createScopeGuesses()
  const batcher = createWriteBatcher<Job, KeyResult>({
    run: together,
    conflictKeyOf: ({ write }) => keyId(write.command),
    // What was answered was undone, and concerns one of them: which, each finds out by itself.
    recoveryFrom: (error) => (wasAnswered(error) ? 'sequential' : 'fail'),
  })

  /** Jobs whose callers have gone are not begun. The others are waited for as long as anybody does. */
  async function together(jobs: readonly Job[]): Promise<PromiseSettledResult<KeyResult>[]> {
    const open = jobs.filter(({ call }) => !call.givenUp)
    const results = new Map<Job, KeyResult>()
    if (open.length > 0) {
      const audience = audienceOf(open.map(({ call }) => call))
      const answers = await Promise.race([begin(open, audience), allGone(audience)])
      open.forEach((job, index) => results.set(job, answers[index]!))
    }
    return jobs.map((job) => {
      const value = results.get(job)
      return value === undefined
        ? { status: 'rejected', reason: nobodyWaits(undefined) }
        : { status: 'fulfilled', value }
    })
  }

  async function begin(jobs: readonly Job[], audience: Audience): Promise<KeyResult[]> {
    const writes = jobs.map(({ write }) => write)
    const { scope } = jobs[0]!
    return transact({ place, audience }, async (session, failures) => {
      // Other processes want the scope as well. Who takes its turn first loses one statement at most, not all of them.
      if (failures > 0) await takeTurn(place, session, scope)
      return writeKeys(place, session, writes, { scope })
    })
  }

  /** A write that names no scope. */
  async function alone(write: KeyWrite, call: Call): Promise<KeyResult> {
    let scope: string | null = null
    const onScope = (found: string) => (scope = found)
    try {
      const [result] = await transact(
        { place, audience: call, leavesRace: () => scope !== null },
        (session) => writeKeys(place, session, [write], { scope, onScope }),
      )
      return result!
    } catch (error) {
      if (scope === null || !lostRace(error)) throw error
      return inLane(scope, write, call)
    }
  }

  function inLane(scope: string, write: KeyWrite, call: Call): Promise<KeyResult> {
    return batcher.run(scope, { scope, write, call })
  }

  return {
    async run(call, write, given) {
      const key = keyId(write.command)
      const scope = given ?? guesses.of(key)
      if (scope === null) return alone(write, call)
      guesses.remember(key, scope)
      return inLane(scope, write, call)
    },
  }
}

/** Several callers as one: gone when the last of them is. */
function audienceOf(calls: readonly Call[]): Audience {
  return {
    get givenUp() {
      return calls.every(({ givenUp }) => givenUp)
    },
    givingUp: Promise.all(calls.map(({ givingUp }) => givingUp)).then(() => {}),
    get trouble() {
      return calls[0]?.trouble
    },
    set trouble(error: unknown) {
      for (const call of calls) call.trouble = error
    },
  }
}

async function allGone(audience: Audience): Promise<never> {
  await audience.givingUp
  throw nobodyWaits(audience.trouble)
}
