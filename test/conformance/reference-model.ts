import type { Model } from './calls.js'
import { UpkeepModel } from './model/upkeep.js'

/**
 * A plain implementation of the contract: an array of rows that every call scans. It shares no code with the library, so
 * a mistake in the library's rules can't hide here too.
 */
export class ReferenceModel extends UpkeepModel implements Model {
  clone(): ReferenceModel {
    const copy = new ReferenceModel(this.now, this.contract)
    copy.rows = this.rows
    copy.leftovers = this.leftovers
    copy.cursors = this.cursors
    return copy
  }
}
