import { createLane, type LaneOptions } from './lane.js'
import type { Job } from './waiting-jobs.js'

/** Creates a lane for each scope, for a database where a group has one scope. Idle scopes take no memory. */
export function createScopeLanes<J extends Job, Result>(options: LaneOptions<J, Result>) {
  const lanes = new Map<string, ReturnType<typeof createLane<J, Result>>>()

  function laneOf(scope: string) {
    const lane = lanes.get(scope) ?? createLane({ ...options, onIdle: () => lanes.delete(scope) })
    lanes.set(scope, lane)
    return lane
  }
  return { lanes, laneOf }
}
