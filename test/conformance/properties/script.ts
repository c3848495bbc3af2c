import type { ObjectReference, StorageObject } from '../../../src/core/store/records.js'
import type { AdoptResult, ExtendClaimInput, StorageObjectStore } from '../../../src/core/store/contract.js'
import type { StoredEvent } from '../../../src/core/store/events.js'
import type { Observed } from '../outcome.js'
import { EARLY_IDS, LATE_IDS, attemptIdOf, isAttemptId } from '../attempt-ids.js'
import type { Call } from '../calls.js'
import { callModel, observeStore } from '../calls.js'
import type { ManualClock } from '../clock.js'
import { outcomeDifference, difference } from '../difference.js'
import { ConformanceFailure } from '../failure.js'
import { DrainedEvents } from '../event-views.js'
import { Notation } from '../notation.js'
import { ReferenceModel } from '../reference-model.js'
import type { Names } from '../views.js'
import { Snapshot } from '../views.js'
import type { EmptyStore, StoreFactory } from '../store-factory.js'
import { ScriptFailure } from './check.js'
import type { ScriptState } from './choices.js'
import { ScriptCode } from './code.js'
import { DriverOutcomes } from './driver-outcomes.js'
import type { Vocabulary } from './vocabulary.js'
import { allReferences } from './vocabulary.js'

const URL_SAFE_CURSOR = /^[A-Za-z0-9._~-]{1,200}$/

interface Attempt extends ObjectReference {
  readonly id: string
}

/** A running script: the model, the ids and cursors that the store returned, and the lines of the failure report. */
export class Script implements ScriptState {
  readonly clock: ManualClock
  readonly model: ReferenceModel
  readonly notation = new Notation()
  readonly lines: string[] = []
  readonly code = new ScriptCode()
  readonly vocabulary: Vocabulary
  readonly attempts: Attempt[] = []
  readonly cursors: string[] = []
  readonly claims: ExtendClaimInput[] = []
  readonly #outcomes: DriverOutcomes
  #ownIds = 0
  #lastMadeId = ''

  /** `events` says whether the store records events. */
  constructor(vocabulary: Vocabulary, { clock, place }: EmptyStore, events: boolean) {
    this.vocabulary = vocabulary
    this.clock = clock
    this.model = new ReferenceModel(clock.now, events)
    this.#outcomes = new DriverOutcomes(place.reported, this.model, vocabulary.scopes)
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
    this.code.call({ call, outcome })
    this.#learnId(call, outcome)
    this.#outcomes.begin(call)
    const expected = callModel(this.model, call, outcome)
    const found = outcomeDifference(expected, outcome, this.notation)
    if (found !== null) this.fail(`The last call: ${found}`)
    const flaw = this.#outcomes.flaw(call, outcome, this.notation)
    if (flaw !== null) this.fail(`The last call: ${flaw}`)
    this.#learnCursor(call, outcome)
    this.#learnClaims(call, outcome)
  }

  moveClock(by: number): void {
    this.clock.advance(by)
    this.code.moveClock(this.clock.time)
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

  /** Describes what `verify` and `checkUsage` find wrong, or returns `null`. */
  async maintenance(store: StorageObjectStore): Promise<string | null> {
    const results = { verify: await store.verify(), checkUsage: await store.checkUsage() }
    const found = difference({ verify: [], checkUsage: [] }, results, this.notation)
    return found && `At the end: ${found}`
  }

  /** Compares the events that are left with those of the model, by claiming and settling them. */
  async compareEvents(store: StorageObjectStore): Promise<void> {
    const found = (await this.drain(store)).differenceFrom(this.model, this.notation)
    if (found !== null) this.fail(`At the end: ${found}`)
  }

  drain(store: StorageObjectStore): Promise<DrainedEvents> {
    return DrainedEvents.of(store, this.clock)
  }

  snapshot(store: StorageObjectStore): Promise<Snapshot> {
    const { scopes, routes } = this.vocabulary
    const names: Names = {
      now: this.clock.now(),
      scopes,
      routes,
      references: allReferences(this.vocabulary),
      // The latest few, because each costs a call after each step.
      ids: this.attempts.slice(-4).map(({ id }) => id),
    }
    return Snapshot.of(store, names)
  }

  fail(why: string): never {
    const before = this.model.recordsEvents ? ['The store records events.'] : []
    const report = [...before, ...this.lines, why].join('\n')
    throw new ScriptFailure(report, this.code.text(this.model.recordsEvents))
  }

  #learnId(call: Call, outcome: Observed): void {
    if (call.method === 'adopt') this.#learnAdopted(outcome)
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

  #learnAdopted(outcome: Observed): void {
    const { object, known } = 'ok' in outcome ? (outcome.ok as AdoptResult) : { object: null, known: true }
    if (object === null || known || this.attempts.some(({ id }) => id === object.id)) return
    if (!isAttemptId(object.id))
      this.fail(`The store made the id ${String(object.id)}, which is not a lower-case UUIDv7`)
    const time = Math.max(0, object.createdAt.getTime())
    if (parseInt(object.id.replace('-', '').slice(0, 12), 16) !== time)
      this.fail(`The store made the id ${object.id}, which doesn't carry ${object.createdAt.toISOString()}`)
    this.model.madeId = object.id
    this.learnAttempt(object)
  }

  #learnClaims(call: Call, outcome: Observed): void {
    if (call.method !== 'claimEvents' || !('ok' in outcome)) return
    const claimed = outcome.ok as StoredEvent[]
    this.claims.unshift(...claimed.map(({ id, claim }) => ({ id, claim })))
    for (const { id, claim } of claimed) for (const token of [id, claim]) this.notation.nameToken(token)
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

/** Runs a script on an empty store. Its failures show the calls. */
export function withScript(
  stores: StoreFactory,
  { words, events }: { readonly words: Vocabulary; readonly events: boolean },
  run: (script: Script, empty: EmptyStore) => Promise<void>,
): Promise<void> {
  return stores.withStore(events, async (empty) => {
    const script = new Script(words, empty, events)
    try {
      await run(script, empty)
    } catch (error) {
      if (error instanceof ConformanceFailure && !(error instanceof ScriptFailure)) script.fail(error.message)
      throw error
    }
  })
}
