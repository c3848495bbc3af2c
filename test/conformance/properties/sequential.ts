import fc from 'fast-check'
import type { StorageObjectStore } from '../../../src/core/store/contract.js'
import type { PropertySettings } from '../options.js'
import type { StoreFactory } from '../store-factory.js'
import { check } from './check.js'
import type { Script } from './script.js'
import { withScript } from './script.js'
import type { SequentialScenario } from './sequential-scenarios.js'
import type { Step } from './steps.js'
import { runStep } from './steps.js'
import type { Vocabulary } from './vocabulary.js'

const LONGEST_SCRIPT = 40

class StepCommand implements fc.AsyncCommand<Script, StorageObjectStore> {
  readonly #step: Step

  constructor(step: Step) {
    this.#step = step
  }

  check(): boolean {
    return true
  }

  async run(script: Script, store: StorageObjectStore): Promise<void> {
    await runStep(this.#step, script, store)
    await script.compareStates(store)
  }

  toString(): string {
    return JSON.stringify(this.#step)
  }
}

/** Runs scripts of sequential calls, and compares the store with the model after each call. */
export async function checkSequentialCalls(
  stores: StoreFactory,
  settings: PropertySettings,
  scenario: SequentialScenario,
): Promise<void> {
  const commands = scenario.steps.map((step) => new StepCommand(step))
  const scripts = fc.tuple(
    // Without events first, because failures shrink to the first.
    fc.constantFrom(false, true, true, true),
    scenario.words,
    fc.commands([commands], {
      maxCommands: LONGEST_SCRIPT,
      size: 'max',
      ...(settings.replay && { replayPath: settings.replay.commands }),
    }),
  )
  type Commands = Iterable<fc.AsyncCommand<Script, StorageObjectStore>>
  const run = ([events, words, commands]: [boolean, Vocabulary, Commands]) =>
    withScript(stores, { words, events }, async (script, { store }) => {
      await fc.asyncModelRun(() => ({ model: script, real: store }), commands)
      const found = await script.maintenance(store)
      if (found !== null) script.fail(found)
      await script.compareEvents(store)
    })
  // Commands print the path to themselves only as part of their text.
  const replayOf = ([, , own]: readonly [unknown, unknown, unknown]) =>
    /replayPath="([^"]*)"/.exec(String(own))?.[1] ?? ''
  await check(stores, scripts, run, settings, replayOf)
}
