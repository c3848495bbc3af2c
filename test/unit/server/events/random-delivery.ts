import type { StoredEvent } from '@svc/db'
import fc from 'fast-check'
import { expect } from 'vitest'
import { EventRunner } from '../../../../src/server/events/runner.js'
import { HOUR } from '../../../conformance/clock.js'
import { activate, at, remaining } from './changed-objects.js'
import type { RecordingStore } from './fair-delivery.js'

/** What one run of the handler does before it returns. `turns`: of the event loop. */
interface Behaviour {
  readonly turns: number
  readonly does: 'return' | 'throw' | 'change its object'
}

interface Scenario {
  /** The number of objects of each owner. */
  readonly owners: readonly number[]
  /** The objects that change, by number, and whether the server knows of the change. */
  readonly changes: readonly { readonly object: number; readonly isKnown: boolean; readonly turns: number }[]
  /** Of the runs of the handler, one after the other. Later ones return. */
  readonly handlers: readonly Behaviour[]
  /** Places of a job that runs meanwhile, or 0. */
  readonly jobPlaces: number
}

const turns = fc.nat(3)

const scenarios: fc.Arbitrary<Scenario> = fc.record({
  owners: fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 4 }),
  changes: fc.array(fc.record({ object: fc.nat(20), isKnown: fc.boolean(), turns }), {
    minLength: 1,
    maxLength: 40,
  }),
  handlers: fc.array(
    fc.record({
      turns,
      does: fc.oneof(
        { weight: 6, arbitrary: fc.constant('return' as const) },
        { weight: 1, arbitrary: fc.constant('throw' as const) },
        { weight: 1, arbitrary: fc.constant('change its object' as const) },
      ),
    }),
    { maxLength: 40 },
  ),
  jobPlaces: fc.constantFrom(0, 1, 3, 8),
})

/** Checks that each change is delivered, once and in the order of its object, whoever changes what, and whatever handlers do. */
export async function checkRandomDelivery(newStore: () => RecordingStore, numRuns: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(scenarios, (scenario) => deliver(scenario, newStore())),
    // On a database, a run that fails leaves events to the next one.
    { numRuns, endOnFailure: true },
  )
}

async function pass(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}

async function deliver(scenario: Scenario, { store, clock }: RecordingStore): Promise<void> {
  const objects = scenario.owners.flatMap((count, owner) =>
    Array.from({ length: count }, (_, index) => ({ scope: `owner ${owner}`, ...at(`${owner} ${index}`) })),
  )
  const changes = new Map(objects.map(({ key }): [string, string[]] => [key, []]))
  const delivered = new Map(objects.map(({ key }): [string, string[]] => [key, []]))
  const running = new Set<string>()
  let runs = 0

  /** Changes of an object, one after the other: two uploads at once would end one of them. */
  const changing = new Map<string, Promise<void>>()
  const change = ({ scope, key }: { readonly scope: string; readonly key: string }): Promise<void> => {
    const changed = (changing.get(key) ?? Promise.resolve()).then(
      async () => void changes.get(key)!.push(await activate(store, key, clock, scope)),
    )
    changing.set(key, changed)
    return changed
  }

  const onEvent = async ({ object }: StoredEvent) => {
    expect(running.has(object.key)).toBe(false)
    running.add(object.key)
    const behaviour = scenario.handlers[runs++] ?? { turns: 0, does: 'return' }
    try {
      await pass(behaviour.turns)
      if (behaviour.does === 'throw') throw new Error('The handler failed.')
      if (behaviour.does === 'change its object') {
        await change(object)
        runner.changed(object)
      }
      delivered.get(object.key)!.push(object.attemptId)
    } finally {
      running.delete(object.key)
    }
  }

  const runner = new EventRunner({
    store,
    onEvent,
    report: () => undefined,
    now: clock.now,
    handlerSeconds: 3600,
  })
  const runJob = (concurrency: number) =>
    runner.deliver({
      ...{ concurrency, pollSeconds: null, signal: null, claimSeconds: 60, handlerSeconds: null },
      onResult: () => undefined,
    })

  const job = scenario.jobPlaces > 0 ? runJob(scenario.jobPlaces) : null
  for (const { object, isKnown, turns: wait } of scenario.changes) {
    const changed = objects[object % objects.length]!
    await change(changed)
    if (isKnown) runner.changed(changed)
    await pass(wait)
  }
  await job
  await runner.idle()
  const isAllKnown = scenario.changes.every(({ isKnown }) => isKnown)
  const mayFail = scenario.handlers.slice(0, runs).some(({ does }) => does === 'throw')
  if (isAllKnown && !mayFail) expect(await remaining(store)).toBe(0)

  for (let round = 0; round < 100 && (await remaining(store)) > 0; round++) {
    clock.advance(HOUR)
    await runJob(8)
    // A handler may have changed its object. Its delivery must not last beyond its claim.
    await runner.idle()
  }
  expect(Object.fromEntries(delivered)).toEqual(Object.fromEntries(changes))
}
