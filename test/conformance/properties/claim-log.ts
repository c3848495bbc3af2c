import type { StoredEvent } from '../../../src/core/store/events.js'
import { ConformanceFailure } from '../failure.js'
import { ManualClock, SECOND } from '../clock.js'

/** What the log reads of an event that was claimed. */
export type ClaimedEvent = Pick<StoredEvent, 'id' | 'claim'> & {
  readonly object: Pick<StoredEvent['object'], 'key' | 'size'>
}

/** A call that has begun. Moments count the beginnings and ends of all calls. */
interface StartedCall {
  readonly worker: number
  readonly moment: number
  /** The end of the claims that the call makes, by the clock at its beginning. */
  readonly until: number
}

interface Claim {
  readonly worker: number
  readonly id: string
  readonly token: string
  readonly object: string
  /** The number of the change, counted for each object. */
  readonly change: number
  readonly started: number
  readonly ended: number
  until: number
  /** When the worker began to settle it, and when it was done with that. */
  settling: number
  settled: number
}

interface Settling {
  readonly claims: readonly Claim[]
  readonly isRetry: boolean
  readonly moment: number
  readonly worker: number
}

/** Checks claims while they are made. */
export class ClaimLog {
  readonly #clock: ManualClock
  readonly #claims: Claim[] = []
  /** When an event was settled for good: the beginning and the end of the call. */
  readonly #done = new Map<
    string,
    { readonly began: number; readonly ended: number; readonly name: string }
  >()
  readonly #lines: string[] = []
  #moment = 0

  constructor(clock: ManualClock) {
    this.#clock = clock
  }

  start(worker: number, seconds: number): StartedCall {
    return { worker, moment: ++this.#moment, until: this.#clock.time + seconds * SECOND }
  }

  claimed(call: StartedCall, events: readonly ClaimedEvent[]): void {
    const { worker, until } = call
    const ended = ++this.#moment
    const claims = events.map(({ id, claim, object }): Claim => {
      const named = { worker, id, token: claim, object: object.key, change: object.size ?? -1 }
      return { ...named, started: call.moment, ended, until, settling: Infinity, settled: Infinity }
    })
    this.#note(worker, `claims ${claims.map(nameOf).join(', ') || 'nothing'} until ${this.#time(until)}`)
    for (const claim of claims) {
      this.#checkClaim(call, claim)
      this.#claims.push(claim)
    }
  }

  extended(
    { worker, until, moment }: StartedCall,
    events: readonly ClaimedEvent[],
    ids: readonly string[],
  ): void {
    const claims = this.#claimsOf(events).filter(({ id }) => ids.includes(id))
    ++this.#moment
    this.#note(worker, `extends ${claims.map(nameOf).join(', ') || 'nothing'} until ${this.#time(until)}`)
    for (const claim of claims) {
      if (this.#isLost(claim, moment))
        this.fail(`${nameOf(claim)} was extended with a claim that was taken over.`)
      claim.until = Math.max(claim.until, until)
    }
  }

  settling(worker: number, events: readonly ClaimedEvent[], isRetry: boolean): Settling {
    const claims = this.#claimsOf(events)
    const moment = ++this.#moment
    for (const claim of claims) claim.settling = moment
    return { claims, isRetry, moment, worker }
  }

  settled({ claims, isRetry, moment, worker }: Settling, ids: readonly string[]): void {
    const ended = ++this.#moment
    for (const claim of claims) claim.settled = ended
    const held = claims.filter(({ id }) => ids.includes(id))
    this.#note(worker, `${isRetry ? 'retries' : 'settles'} ${held.map(nameOf).join(', ') || 'nothing'}`)
    for (const claim of held) {
      const done = this.#done.get(claim.id)
      // A retry may be due at once. Another worker can then settle the event while the call goes on with other entries.
      if (done && (!isRetry || done.ended < moment)) this.fail(`${nameOf(claim)} was settled twice.`)
      if (this.#isLost(claim, moment))
        this.fail(`${nameOf(claim)} was settled with a claim that was taken over.`)
      if (!isRetry) this.#done.set(claim.id, { began: moment, ended, name: nameOf(claim) })
    }
  }

  /** Checks that each change of each object was settled. `objects` has the number of changes of each. */
  checkComplete(objects: readonly number[]): void {
    const done = [...this.#done.values()].map(({ name }) => name).sort()
    const all = objects.flatMap((changes, object) =>
      Array.from({ length: changes }, (_, change) => nameOf({ object: `object ${object}`, change })),
    )
    const missing = all.filter((name) => !done.includes(name))
    if (missing.length > 0) this.fail(`Never settled, although nothing is left: ${missing.join(', ')}.`)
    if (done.length > all.length) this.fail('More events were settled than recorded.')
  }

  /** Fails with all that was logged. */
  fail(why: string): never {
    throw new ConformanceFailure([...this.#lines, why].join('\n'))
  }

  #checkClaim(call: StartedCall, claim: Claim): void {
    const done = this.#done.get(claim.id)
    if (done && done.ended < call.moment) this.fail(`${nameOf(claim)} was claimed after it had been settled.`)
    const others = this.#claims.filter(({ object }) => object === claim.object)
    const running = others.find(
      ({ until, settling }) =>
        until > this.#clock.time && settling > claim.ended && claim.until > this.#clock.time,
    )
    if (running) this.fail(`${nameOf(claim)} was claimed while another worker held ${nameOf(running)}.`)
    const early = others.find(({ id, change }) => {
      const other = this.#done.get(id)
      return change < claim.change && (!other || other.began > claim.ended) && !this.#isSettling(id)
    })
    if (early) this.fail(`${nameOf(claim)} was claimed before ${nameOf(early)} was settled.`)
    const later = others.find(({ change, ended }) => change > claim.change && ended < call.moment)
    if (later) this.fail(`${nameOf(claim)} was claimed after ${nameOf(later)}.`)
  }

  /** Returns whether a call that settles the event is under way. */
  #isSettling(id: string): boolean {
    return this.#claims.some(
      (claim) => claim.id === id && claim.settling !== Infinity && claim.settled === Infinity,
    )
  }

  /** Returns whether the event was claimed again before this moment. */
  #isLost(claim: Claim, moment: number): boolean {
    return this.#claims.some(
      ({ id, started, ended }) => id === claim.id && started > claim.ended && ended < moment,
    )
  }

  #claimsOf(events: readonly ClaimedEvent[]): Claim[] {
    return this.#claims.filter((claim) =>
      events.some((event) => event.id === claim.id && event.claim === claim.token),
    )
  }

  #note(worker: number, what: string): void {
    this.#lines.push(
      `${worker < 0 ? 'at the end' : `worker ${worker + 1}`} ${what} (${this.#time(this.#clock.time)})`,
    )
  }

  #time(time: number): string {
    return `T+${(time - ManualClock.START) / SECOND}s`
  }
}

function nameOf({ object, change }: Pick<Claim, 'object' | 'change'>): string {
  return `change ${change + 1} of ${object}`
}
