import type { ObjectReference, StorageObject } from '../../../src/core/store/records.js'
import type { StorageObjectStore } from '../../../src/core/store/contract.js'
import type { Observed } from '../answer.js'
import { ConformanceFailure } from '../assertions.js'
import { EARLY_IDS, LATE_IDS, attemptIdOf, isAttemptId } from '../attempt-ids.js'
import type { Call } from '../calls.js'
import { askModel, askStore } from '../calls.js'
import type { ManualClock } from '../clock.js'
import { answerDifference, difference } from '../difference.js'
import { Notation } from '../notation.js'
import { ReferenceModel } from '../reference-model.js'
import type { Names } from '../views.js'
import { Snapshot } from '../views.js'
import type { Vocabulary } from './vocabulary.js'
import { allReferences } from './vocabulary.js'

const URL_SAFE_CURSOR = /^[A-Za-z0-9._~-]{1,200}$/

interface Attempt extends ObjectReference {
  readonly id: string
}

/** A script while it runs: the model beside the store, what has been learnt from the store, and the lines for a reader. */
export class Script {
  readonly clock: ManualClock
  readonly model: ReferenceModel
  readonly notation = new Notation()
  readonly lines: string[] = []
  readonly vocabulary: Vocabulary
  /** Every attempt that was made, whatever became of it. */
  readonly attempts: Attempt[] = []
  /** Cursors that came up, in their order. */
  readonly cursors: string[] = []
  #ownIds = 0
  #lastMadeId = ''

  constructor(vocabulary: Vocabulary, clock: ManualClock) {
    this.vocabulary = vocabulary
    this.clock = clock
    this.model = new ReferenceModel(clock.now)
  }

  /** An id that no attempt had before; the caller's own, older or newer than all that stores make. */
  freshId(age: 'early' | 'late'): string {
    // Counted down, so that ids of this kind don't happen to sort in the order of their creation.
    return attemptIdOf(age === 'early' ? EARLY_IDS : LATE_IDS, 0xffff - ++this.#ownIds)
  }

  /** A storage key that no attempt had before. */
  freshStorageKey(key: string): string {
    const suffix = ` ${++this.#ownIds}`
    return [...key].slice(0, 200).join('') + suffix
  }

  /** One call to the store and to the model, which must come to the same. */
  async take(call: Call, store: StorageObjectStore): Promise<void> {
    const answer = await askStore(store, call)
    this.lines.push(`${this.lines.length + 1}. ${this.notation.call(call)} → ${this.notation.answer(answer)}`)
    this.#learnId(call, answer)
    const expected = askModel(this.model, call)
    const found = answerDifference(expected, answer, this.notation)
    if (found !== null) this.fail(`The last call: ${found}`)
    this.#learnCursor(call, answer)
  }

  moveClock(by: number): void {
    this.clock.advance(by)
    this.lines.push(`${this.lines.length + 1}. the clock moves to ${this.notation.value(this.clock.now())}`)
  }

  learnAttempt(attempt: Attempt): void {
    if (!this.attempts.some(({ id }) => id === attempt.id)) this.attempts.push(attempt)
  }

  /** Everything that the store shows must be as the model has it. */
  async compareStates(store: StorageObjectStore): Promise<void> {
    const found = (await this.snapshot(store)).differenceFrom(this.model, this.notation)
    if (found !== null) this.fail(`After that: ${found}`)
  }

  /** What the upkeep of the store has to say: nothing, as long as only its own calls wrote. */
  async checkUpkeep(store: StorageObjectStore): Promise<void> {
    const answers = { verify: await store.verify(), checkUsage: await store.checkUsage() }
    const found = difference({ verify: [], checkUsage: [] }, answers, this.notation)
    if (found !== null) this.fail(`At the end: ${found}`)
  }

  snapshot(store: StorageObjectStore): Promise<Snapshot> {
    const { scopes, routes } = this.vocabulary
    const names: Names = { scopes, routes, references: allReferences(this.vocabulary) }
    return Snapshot.of(store, names)
  }

  fail(why: string): never {
    throw new ConformanceFailure(`${this.lines.join('\n')}\n${why}`)
  }

  #learnId(call: Call, answer: Observed): void {
    if (call.method !== 'reserve' || !('ok' in answer)) return
    const { id, bucket, key } = answer.ok as StorageObject
    if (call.args[0].id == null) {
      if (!isAttemptId(id)) this.fail(`The store made the id ${String(id)}, which is no lower-case UUIDv7`)
      if (id <= this.#lastMadeId)
        this.fail(`The store made the id ${id} after ${this.#lastMadeId}, which sorts behind it`)
      this.#lastMadeId = id
      this.model.madeId = id
    }
    this.learnAttempt({ id, bucket, key })
  }

  #learnCursor(call: Call, answer: Observed): void {
    if (call.method !== 'listByScope' || !('ok' in answer)) return
    const { objects, nextCursor } = answer.ok as { objects: StorageObject[]; nextCursor?: string }
    if (nextCursor === undefined) return
    if (!URL_SAFE_CURSOR.test(nextCursor)) this.fail(`The cursor ${nextCursor} is not URL-safe, or too long`)
    this.model.learnCursor(nextCursor, objects.at(-1)!.id)
    this.notation.nameCursor(nextCursor)
    if (!this.cursors.includes(nextCursor)) this.cursors.push(nextCursor)
  }
}
