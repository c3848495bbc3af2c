import type fc from 'fast-check'
import type { StorageObjectStore } from '../../../src/core/store/contract.js'
import type { Call } from '../calls.js'
import { observeStore } from '../calls.js'
import { NoResponse } from '../failure.js'
import type { PropertySettings } from '../options.js'
import type { StoreFactory } from '../store-factory.js'
import { check } from './check.js'
import type { ConcurrentScenario, PausedStep, Program } from './concurrent-scenarios.js'
import { programs } from './concurrent-scenarios.js'
import type { FinalState, FinishedCall } from './linearize.js'
import { whyNotInAnyOrder } from './linearize.js'
import type { Script } from './script.js'
import { withScript } from './script.js'
import { callOf, runStep } from './steps.js'
import { narrowVocabulary } from './vocabulary.js'

interface PlannedCall {
  readonly caller: number
  readonly pause: number
  readonly call: Call
}

/**
 * Runs programs of several concurrent callers, each making a few calls in sequence. The results and the final state must
 * match the model in some order of the calls.
 */
export async function checkConcurrentCalls(
  stores: StoreFactory,
  settings: PropertySettings,
  scenarios: fc.Arbitrary<ConcurrentScenario>,
): Promise<void> {
  const run = ({ before, callers, events }: Program) =>
    withScript(stores, { words: narrowVocabulary, events }, async (script, { store, place }) => {
      for (const step of before) await runStep(step, script, store)
      const start = script.model.clone()
      // As from two processes, if the suite can open the place twice.
      const used = place.canReopen ? [store, await place.reopen()] : [store]
      const calls = await runConcurrently(plan(callers, script), used)
      script.lines.push(...report(calls, script))
      script.code.concurrently(byCaller(calls))
      for (const { outcome } of calls) {
        if ('crash' in outcome && outcome.crash instanceof NoResponse) script.fail(outcome.crash.message)
      }
      const final = await script.snapshot(store)
      const maintenance = await script.maintenance(store)
      const drained = await script.drain(store)

      const state: FinalState = {
        differenceFrom: (model, notation) =>
          final.differenceFrom(model, notation) ?? drained.differenceFrom(model, notation),
      }
      const reason = whyNotInAnyOrder(start, calls, state, script.notation)
      if (reason !== null) script.fail(reason)
      if (maintenance !== null) script.fail(maintenance)
    })
  await check(stores, programs(scenarios, settings.delays), run, settings)
}

/** Resolves all steps in the state before any of them runs. */
function plan(callers: readonly (readonly PausedStep[])[], script: Script): PlannedCall[] {
  const steps = callers.flatMap((own, caller) => own.map((paused) => ({ ...paused, caller })))
  const calls = new Map<object, Call>()
  // Reserves first, so the other calls can refer to their attempts.
  for (const isReserve of [true, false]) {
    for (const each of steps) {
      if ((each.step.call === 'reserve') !== isReserve) continue
      const call = callOf(each.step, script)
      calls.set(each, call)
      if (call.method !== 'reserve') continue
      const { id, bucket, key } = call.args[0]
      if (id != null) script.learnAttempt({ id, bucket, key })
    }
  }
  return steps.map((each) => ({ caller: each.caller, pause: each.pause, call: calls.get(each)! }))
}

type CallOfCaller = FinishedCall & { readonly caller: number }

async function runConcurrently(
  planned: readonly PlannedCall[],
  stores: readonly StorageObjectStore[],
): Promise<CallOfCaller[]> {
  let moment = 0
  const finished = new Map<PlannedCall, CallOfCaller>()
  const callers = new Set(planned.map(({ caller }) => caller))
  await Promise.all(
    [...callers].map(async (caller) => {
      for (const each of planned.filter((other) => other.caller === caller)) {
        if (each.pause > 0) await new Promise((resolve) => setTimeout(resolve, each.pause))
        const started = moment++
        const outcome = await observeStore(stores[caller % stores.length]!, each.call)
        finished.set(each, { caller, call: each.call, outcome, started, ended: moment++ })
      }
    }),
  )
  return planned.map((each) => finished.get(each)!)
}

function byCaller(calls: readonly CallOfCaller[]): CallOfCaller[][] {
  const callers = [...new Set(calls.map(({ caller }) => caller))]
  return callers.map((caller) => calls.filter((each) => each.caller === caller))
}

function report(calls: readonly CallOfCaller[], { notation, lines }: Script): string[] {
  return [
    lines.length > 0 ? 'Then concurrently:' : 'Concurrently:',
    ...byCaller(calls).flatMap((own) => [
      `   caller ${own[0]!.caller + 1}:`,
      ...own.map(({ call, outcome }) => `      ${notation.call(call)} → ${notation.outcome(outcome)}`),
    ]),
  ]
}
