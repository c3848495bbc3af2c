import type { ObjectReference, StorageObject } from '../../../src/core/store/records.js'
import type { StorageObjectStore } from '../../../src/core/store/contract.js'
import type { Observed } from '../outcome.js'
import { ConformanceFailure } from '../assertions.js'
import { EARLY_IDS, LATE_IDS, attemptIdOf, isAttemptId } from '../attempt-ids.js'
import type { Call } from '../calls.js'
import { callModel, observeStore } from '../calls.js'
import type { ManualClock } from '../clock.js'
import type { Contract } from '../contract.js'
import { outcomeDifference, difference } from '../difference.js'
import { Notation } from '../notation.js'
import { ReferenceModel } from '../reference-model.js'
import type { Names } from '../views.js'
import { Snapshot } from '../views.js'
import type { ScriptState } from './choices.js'
import type { Vocabulary } from './vocabulary.js'
import { allReferences } from './vocabulary.js'

const URL_SAFE_CURSOR = /^[A-Za-z0-9._~-]{1,200}$/

interface Attempt extends ObjectReference {
  readonly id: string
}

/** A running script: the model, the ids and cursors that the store returned, and the lines of the failure report. */
export class Script implements ScriptState {
  readonly clock: ManualClock
  readonly contract: Contract
  readonly model: ReferenceModel
  readonly notation = new Notation()
  readonly lines: string[] = []
  readonly vocabulary: Vocabulary
  readonly attempts: Attempt[] = []
  readonly cursors: string[] = []
  #ownIds = 0
  #lastMadeId = ''

  constructor(vocabulary: Vocabulary, clock: ManualClock, contract: Contract) {
    this.vocabulary = vocabulary
    this.clock = clock
    this.contract = contract
    this.model = new ReferenceModel(clock.now, contract)
  }

  /** Returns an unused id, older or newer than those that stores make. */
  freshId(age: 'early' | 'late'): string {
    // Counts down, so the ids don't sort in the order of their creation.
    return attemptIdOf(age === 'early' ? EARLY_IDS : LATE_IDS, 0xffff - ++this.#ownIds)
  }

  /** Returns an unused storage key. */
  freshStorageKey(key: string): string {
    const suffix = ` ${++this.#ownIds}`
    return [...key].slice(0, 200).join('') + suffix
  }

  /** Makes a call to the store and to the model. Both must have the same outcome. */
  async run(call: Call, store: StorageObjectStore): Promise<void> {
    const outcome = await observeStore(store, call)
    this.lines.push(
      `${this.lines.length + 1}. ${this.notation.call(call)} → ${this.notation.outcome(outcome)}`,
    )
    this.#learnId(call, outcome)
    const expected = callModel(this.model, call)
    const found = outcomeDifference(expected, outcome, this.notation)
    if (found !== null) this.fail(`The last call: ${found}`)
    this.#learnCursor(call, outcome)
  }

  moveClock(by: number): void {
    this.clock.advance(by)
    this.lines.push(`${this.lines.length + 1}. the clock moves to ${this.notation.value(this.clock.now())}`)
  }

  learnAttempt(attempt: Attempt): void {
    if (!this.attempts.some(({ id }) => id === attempt.id)) this.attempts.push(attempt)
  }

  /** Compares every read of the store with the model. */
  async compareStates(store: StorageObjectStore): Promise<void> {
    const found = (await this.snapshot(store)).differenceFrom(this.model, this.notation)
    if (found !== null) this.fail(`After that: ${found}`)
  }

  /** Checks that `verify` and `checkUsage` find nothing wrong. */
  async checkMaintenance(store: StorageObjectStore): Promise<void> {
    const results = { verify: await store.verify(), checkUsage: await store.checkUsage() }
    const found = difference({ verify: [], checkUsage: [] }, results, this.notation)
    if (found !== null) this.fail(`At the end: ${found}`)
  }

  snapshot(store: StorageObjectStore): Promise<Snapshot> {
    const { scopes, routes } = this.vocabulary
    const names: Names = {
      contract: this.contract,
      now: this.clock.now(),
      scopes,
      routes,
      references: allReferences(this.vocabulary),
    }
    return Snapshot.of(store, names)
  }

  fail(why: string): never {
    throw new ConformanceFailure(`${this.lines.join('\n')}\n${why}`)
  }

  #learnId(call: Call, outcome: Observed): void {
    if (call.method !== 'reserve' || !('ok' in outcome)) return
    const { id, bucket, key } = outcome.ok as StorageObject
    if (call.args[0].id == null) {
      if (!isAttemptId(id)) this.fail(`The store made the id ${String(id)}, which is not a lower-case UUIDv7`)
      if (id <= this.#lastMadeId)
        this.fail(`The store made the id ${id} after ${this.#lastMadeId}, but it sorts before it`)
      this.#lastMadeId = id
      this.model.madeId = id
    }
    this.learnAttempt({ id, bucket, key })
  }

  #learnCursor(call: Call, outcome: Observed): void {
    if (call.method !== 'listByScope' || !('ok' in outcome)) return
    const { objects, nextCursor } = outcome.ok as { objects: StorageObject[]; nextCursor?: string }
    if (nextCursor === undefined) return
    if (!URL_SAFE_CURSOR.test(nextCursor))
      this.fail(`The cursor ${nextCursor} is not URL-safe or longer than 200 characters`)
    this.model.learnCursor(nextCursor, objects.at(-1)!.id)
    this.notation.nameCursor(nextCursor)
    if (!this.cursors.includes(nextCursor)) this.cursors.push(nextCursor)
  }
}
