import type { AdoptResult } from '../../../src/core/store/contract.js'
import type { StorageObject } from '../../../src/core/store/records.js'
import type { Call, MethodName } from '../calls.js'
import type { Notation } from '../notation.js'
import type { Observed } from '../outcome.js'
import type { ReferenceModel } from '../reference-model.js'
import type { ReportedScopes } from '../reported-scopes.js'

/** The writes that return the row they find or make. */
const RETURNING: ReadonlySet<MethodName> = new Set([
  'reserve',
  'confirm',
  'setUploadId',
  'release',
  'remove',
  'update',
  'transfer',
])

/** Compares the scopes that a driver's writes report with those that they touched. */
export class TouchedScopes {
  readonly #reported: ReportedScopes | null
  readonly #model: ReferenceModel
  readonly #scopes: readonly string[]
  #before: ReadonlyMap<string, string> = new Map()

  /** Without `reported`, nothing is checked. */
  constructor(reported: ReportedScopes | null, model: ReferenceModel, scopes: readonly string[]) {
    this.#reported = reported
    this.#model = model
    this.#scopes = scopes
  }

  /** Call this before the model has made a call. */
  begin(): void {
    if (this.#reported) this.#before = this.#holdings()
  }

  /** Describes what the driver should have reported for the call, or returns `null`. */
  missing(call: Call, outcome: Observed, notation: Notation): string | null {
    if (!this.#reported) return null
    const after = this.#holdings()
    const reported = this.#reported.take()
    const changed = this.#scopes.filter((scope) => this.#before.get(scope) !== after.get(scope))
    const missing = [...changed, ...returnedScopes(call, outcome)].find((scope) => !reported.has(scope))
    if (missing === undefined) return null
    const scopes = `expected \`scopes\` of the driver to include ${notation.value(missing)}`
    return `${scopes}, got ${notation.value([...reported])}`
  }

  /** Returns the usage and the counts of each scope, as text. */
  #holdings(): ReadonlyMap<string, string> {
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

/** A write that finds its work done must still name the scope of the row. */
function returnedScopes({ method }: Call, outcome: Observed): string[] {
  if (!('ok' in outcome)) return []
  if (method === 'purgeExpired') return (outcome.ok as StorageObject[]).map(({ scope }) => scope)
  if (method === 'adopt') return scopesOf((outcome.ok as AdoptResult).object)
  return RETURNING.has(method) ? scopesOf(outcome.ok as StorageObject | null) : []
}

function scopesOf(row: StorageObject | null): string[] {
  return row ? [row.scope] : []
}
