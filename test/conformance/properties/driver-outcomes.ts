import type { ConfirmInput } from '../../../src/core/store/contract.js'
import type { StorageObject } from '../../../src/core/store/records.js'
import type { Call } from '../calls.js'
import { difference } from '../difference.js'
import type { Notation } from '../notation.js'
import type { Observed } from '../outcome.js'
import type { ReferenceModel } from '../reference-model.js'
import type { ReportedOutcomes } from '../reported-outcomes.js'

/** Compares what the outcomes of a driver report with what the calls did. */
export class DriverOutcomes {
  readonly #reported: ReportedOutcomes | null
  readonly #model: ReferenceModel
  readonly #scopes: readonly string[]
  #holdings: ReadonlyMap<string, string> = new Map()
  #active: unknown = null

  /** Without `reported`, nothing is checked. */
  constructor(reported: ReportedOutcomes | null, model: ReferenceModel, scopes: readonly string[]) {
    this.#reported = reported
    this.#model = model
    this.#scopes = scopes
  }

  /** Call this before the model makes a call. */
  begin({ method, args }: Call): void {
    if (!this.#reported) return
    this.#holdings = this.#heldByEach()
    this.#active = method === 'confirm' ? this.#activeAt(args[0]) : null
  }

  /** Describes what the driver should have reported for the call, or returns `null`. */
  flaw(call: Call, outcome: Observed, notation: Notation): string | null {
    if (!this.#reported) return null
    const { scopes, confirms } = this.#reported.take()
    const after = this.#heldByEach()
    const changed = this.#scopes.filter((scope) => this.#holdings.get(scope) !== after.get(scope))
    const missing = scopes && changed.find((scope) => !scopes.has(scope))
    if (missing != null) {
      const names = `expected \`scopes\` of the driver to include ${notation.value(missing)}`
      return `${names}, got ${notation.value([...scopes!])}`
    }
    if (call.method !== 'confirm' || !('ok' in outcome)) return null
    const isRepeat = changed.length === 0
    const replacesNone = isRepeat || (outcome.ok as StorageObject).status === 'pending'
    const found = difference([{ isRepeat, replaced: replacesNone ? null : this.#active }], confirms, notation)
    return found && `the outcome of the driver\n${found}`
  }

  #activeAt({ bucket, key }: ConfirmInput): unknown {
    const found = this.#model.findActive({ bucket, key })
    return 'ok' in found ? found.ok : null
  }

  /** Returns what each scope has, as text. */
  #heldByEach(): ReadonlyMap<string, string> {
    const { rows } = this.#model
    return new Map(
      this.#scopes.map((scope) => {
        const own = rows.filter((row) => row.scope === scope)
        const held = own.map(({ id, status, size, declaredSize }) => [id, status, size, declaredSize])
        return [scope, JSON.stringify(held)]
      }),
    )
  }
}
