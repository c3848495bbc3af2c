import type fc from 'fast-check'
import type { StorageObjectStore } from '../../../src/core/store/contract.js'
import type { Observed } from '../answer.js'
import type { Call } from '../calls.js'
import { askStore } from '../calls.js'
import type { PropertySettings } from '../options.js'
import type { Places } from '../places.js'
import { check } from './check.js'
import type { Happened } from './linearize.js'
import { whyNotInAnyOrder } from './linearize.js'
import { callOf } from './resolve-step.js'
import { Script } from './script.js'
import type { PausedStep, Program, Rush } from './programs.js'
import { programs } from './programs.js'
import type { Step } from './steps.js'
import { takeStep } from './take-step.js'
import { narrowVocabulary } from './vocabulary.js'

interface Planned {
  readonly caller: number
  readonly pause: number
  readonly call: Call
}

type CallStep = Exclude<Step, { call: 'clock' | 'clockToExpiry' }>

/**
 * Several callers at once, each with a few calls in turn: answers and final state must be those which the model gives in
 * some order of the calls.
 */
export async function callsAtOnce(
  places: Places,
  settings: PropertySettings,
  rush: fc.Arbitrary<Rush>,
): Promise<void> {
  const run = ({ before, callers }: Program) =>
    places.withStore(async (store, clock) => {
      const script = new Script(narrowVocabulary, clock)
      for (const step of before) await takeStep(step, script, store)
      const start = script.model.clone()
      const calls = await runAtOnce(plan(callers, script), store)
      const final = await script.snapshot(store)

      script.lines.push(...writeDown(calls, script))
      const reason = whyNotInAnyOrder(start, calls, final, script.notation)
      if (reason !== null) script.fail(reason)
      await script.checkUpkeep(store)
    })
  await check(programs(rush, settings.delays), run, settings)
}

/** Fills in what the steps name, from the state before any of them runs. */
function plan(callers: readonly (readonly PausedStep[])[], script: Script): Planned[] {
  const steps = callers.flatMap((own, caller) => own.map((paused) => ({ ...paused, caller })))
  const calls = new Map<object, Call>()
  // First those that make attempts, so that the others can name these.
  for (const makesAttempts of [true, false]) {
    for (const each of steps) {
      if ((each.step.call === 'reserve') !== makesAttempts) continue
      const call = callOf(each.step as CallStep, script)
      calls.set(each, call)
      if (call.method !== 'reserve') continue
      const { id, bucket, key } = call.args[0]
      if (id != null) script.learnAttempt({ id, bucket, key })
    }
  }
  return steps.map((each) => ({ caller: each.caller, pause: each.pause, call: calls.get(each)! }))
}

type Placed = Happened & { readonly caller: number }

async function runAtOnce(planned: readonly Planned[], store: StorageObjectStore): Promise<Placed[]> {
  let moment = 0
  const happened = new Map<Planned, Placed>()
  const callers = new Set(planned.map(({ caller }) => caller))
  await Promise.all(
    [...callers].map(async (caller) => {
      for (const each of planned.filter((other) => other.caller === caller)) {
        if (each.pause > 0) await new Promise((resolve) => setTimeout(resolve, each.pause))
        const started = moment++
        const answer: Observed = await askStore(store, each.call)
        happened.set(each, { caller, call: each.call, answer, started, ended: moment++ })
      }
    }),
  )
  return planned.map((each) => happened.get(each)!)
}

function writeDown(calls: readonly Placed[], { notation, lines }: Script): string[] {
  const callers = [...new Set(calls.map(({ caller }) => caller))]
  return [
    lines.length > 0 ? 'Then at once:' : 'At once:',
    ...callers.flatMap((caller) => [
      `   caller ${caller + 1}:`,
      ...calls
        .filter((each) => each.caller === caller)
        .map(({ call, answer }) => `      ${notation.call(call)} → ${notation.answer(answer)}`),
    ]),
  ]
}
