import fc from 'fast-check'
import type { StorageObjectStore } from '../../../src/core/store/contract.js'
import type { PropertySettings } from '../options.js'
import type { Places } from '../places.js'
import { check } from './check.js'
import { Script } from './script.js'
import type { Step } from './steps.js'
import { takeStep } from './take-step.js'
import type { Tale } from './tales.js'
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
    await takeStep(this.#step, script, store)
    await script.compareStates(store)
  }

  toString(): string {
    return JSON.stringify(this.#step)
  }
}

/** Calls one after the other: after each the store must show what the model shows. */
export async function callsInTurn(places: Places, settings: PropertySettings, tale: Tale): Promise<void> {
  const commands = tale.steps.map((step) => new StepCommand(step))
  const scripts = fc.tuple(tale.words, fc.commands([commands], { maxCommands: LONGEST_SCRIPT, size: 'max' }))
  const run = ([words, commands]: [Vocabulary, Iterable<fc.AsyncCommand<Script, StorageObjectStore>>]) =>
    places.withStore(async (store, clock) => {
      const script = new Script(words, clock)
      await fc.asyncModelRun(() => ({ model: script, real: store }), commands)
      await script.checkUpkeep(store)
    })
  await check(scripts, run, settings)
}
