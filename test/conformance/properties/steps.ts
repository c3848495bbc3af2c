import fc from 'fast-check'
import type { StorageObject } from '../../../src/core/store/records.js'
import type { StorageObjectStore } from '../../../src/core/store/contract.js'
import type { Call, MethodName } from '../calls.js'
import { HOUR, MINUTE, SECOND } from '../clock.js'
import { badValuesOf } from '../input-checks.js'
import { INPUTS, callWith, withField } from '../inputs.js'
import { valueOf } from '../outcome.js'
import type { Choice, Here, KeyChoice, ScriptState } from './choices.js'
import { keyChoice, referenceTo } from './choices.js'
import type { Script } from './script.js'
import { word } from './vocabulary.js'

type Chosen<Field> =
  Field extends fc.Arbitrary<infer C>
    ? C
    : Field extends { readonly arbitrary: fc.Arbitrary<infer C> }
      ? C
      : never

/** A call whose fields are choices, which are resolved when it runs. */
export type CallStep<Method extends MethodName = MethodName> = {
  readonly [Each in Method]: { readonly call: Each } & {
    readonly [Name in keyof (typeof INPUTS)[Each]]: Chosen<(typeof INPUTS)[Each][Name]>
  }
}[Method]

interface SpoiledStep {
  readonly call: 'spoiled'
  readonly step: CallStep
  /** Which field gets an invalid value, and which one, by number. */
  readonly field: number
  readonly value: number
}

export type Step =
  | CallStep
  | SpoiledStep
  | { readonly call: 'clock'; readonly by: number }
  /** Moves the clock to this many milliseconds after the pending row at the key expires. */
  | { readonly call: 'clockToExpiry'; readonly atKey: KeyChoice; readonly by: number }

/** Generates calls of a method, from the choices of its fields. */
export function stepOf<Method extends MethodName>(method: Method): fc.Arbitrary<CallStep<Method>> {
  const fields = Object.entries(
    INPUTS[method] as Record<string, fc.Arbitrary<unknown> | Choice<unknown, unknown>>,
  )
  const arbitraries = fields.map(
    ([name, field]) => [name, 'arbitrary' in field ? field.arbitrary : field] as const,
  )
  return fc.record({
    call: fc.constant(method),
    ...Object.fromEntries(arbitraries),
  }) as unknown as fc.Arbitrary<CallStep<Method>>
}

/** Sets metadata as a whole, or names of it. Both together are refused. */
export const update = fc.tuple(stepOf('update'), fc.boolean()).map(([step, isWhole]) => ({
  ...step,
  ...(isWhole ? { setMetadata: null } : { metadata: 'left out' as const }),
}))

/** Generates calls with one invalid field. */
export function spoiled(step: fc.Arbitrary<CallStep>): fc.Arbitrary<SpoiledStep> {
  return fc.record({ call: fc.constant('spoiled' as const), step, field: fc.nat(20), value: fc.nat(40) })
}

export const clockStep = fc.record({
  call: fc.constant('clock' as const),
  by: fc.constantFrom(1, SECOND, MINUTE, HOUR, -1, -SECOND, -MINUTE),
})

export const clockToExpiryStep = fc.record({
  call: fc.constant('clockToExpiry' as const),
  atKey: keyChoice(null, 'pending', 'pending'),
  by: fc.constantFrom(0, 0, -1, 1),
})

/** Resolves the choices of a step into a call. */
export function callOf(step: CallStep | SpoiledStep, script: ScriptState): Call {
  if (step.call === 'spoiled') {
    const call = callOf(step.step, script)
    const fields = badValuesOf(call.method)
    const [field, values] = fields[step.field % fields.length]!
    return withField(call, field, values[step.value % values.length])
  }
  const here = hereOf(step, script)
  const fields = Object.entries(INPUTS[step.call] as Record<string, Choice<unknown, unknown>>)
  const chosen = step as unknown as Record<string, unknown>
  const values = fields.flatMap(([name, field]) => {
    if (name === 'atKey') return Object.entries(here.reference)
    return [[name, field.resolve(chosen[name], here)] as const]
  })
  return callWith(step.call, Object.fromEntries(values))
}

function hereOf(step: CallStep, script: ScriptState): Here {
  const key = 'atKey' in step ? step.atKey : { bucket: 0, key: 0, having: null }
  const { reference, active, pending } = rowsAt(key, script)
  const { scopes } = script.vocabulary
  const payer =
    step.call === 'reserve'
      ? word(scopes, step.scope)
      : step.call === 'transfer'
        ? word(scopes, step.to)
        : (active ?? pending)?.scope
  return { script, reference, active, pending, payer: payer ?? word(scopes, 0) }
}

function rowsAt(key: KeyChoice, script: ScriptState) {
  const reference = referenceTo(key, script)
  const active: StorageObject | null = valueOf(script.model.findActive(reference))
  const pending: StorageObject | null = valueOf(script.model.findPending(reference))
  return { reference, active, pending }
}

/** Runs one step of a script: moves the clock, or makes a call and compares its result with the model. */
export async function runStep(step: Step, script: Script, store: StorageObjectStore): Promise<void> {
  if (step.call === 'clock') return script.moveClock(step.by)
  if (step.call !== 'clockToExpiry') return script.run(callOf(step, script), store)
  const expires = rowsAt(step.atKey, script).pending?.expiresAt?.getTime() ?? Infinity
  // A clock near the last valid date would leave no future for the next reservation.
  if (expires < script.clock.in(365 * 24 * HOUR).getTime())
    script.moveClock(expires + step.by - script.clock.time)
}
