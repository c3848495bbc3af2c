import type { FollowingModel } from './calls.js'
import { ListingModel } from './model/listings.js'

/**
 * A plain implementation of the contract: an array of rows that every call scans. It shares no code with the library, so
 * a mistake in the library's rules can't hide here too.
 */
export class ReferenceModel extends ListingModel implements FollowingModel {
  clone(): ReferenceModel {
    const copy = new ReferenceModel(this.now, this.recordsEvents)
    copy.rows = this.rows
    copy.leftovers = this.leftovers
    copy.events = this.events
    copy.rejections = this.rejections
    copy.recorded = this.recorded
    copy.cursors = this.cursors
    return copy
  }
}
