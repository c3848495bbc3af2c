import { createLane, type Lane, type LaneOptions } from './lane.js'
import type { Job } from './waiting-jobs.js'

/** Creates a lane for each scope, for a database where a group has one scope. Idle scopes take no memory. */
export function createScopeLanes<J extends Job, Result>(options: LaneOptions<J, Result>) {
  const lanes = new Map<string, Lane<J, Result>>()

  function laneOf(scope: string): Lane<J, Result> {
    // A lane may still be idle after the next one of its scope was created.
    const onIdle = () => lanes.get(scope) === lane && lanes.delete(scope)
    const lane = lanes.get(scope) ?? createLane({ ...options, onIdle })
    lanes.set(scope, lane)
    return lane
  }

  return { lanes, laneOf }
}
