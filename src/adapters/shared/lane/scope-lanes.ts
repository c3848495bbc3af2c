import { createLane, type Lane, type LaneOptions } from './lane.js'
import type { Job } from './waiting-jobs.js'

/** Idle lanes to keep for the next scope, because creating one costs more than running a job. */
const MAX_IDLE = 64

/** Creates a lane for each scope, for a database where a group has one scope. Idle scopes take no memory. */
export function createScopeLanes<J extends Job, Result>(options: LaneOptions<J, Result>) {
  const lanes = new Map<string, Lane<J, Result>>()
  const idle: ((scope: string) => Lane<J, Result>)[] = []

  /** Returns a function that opens one lane, for one scope after the other. */
  function createReusable(): (scope: string) => Lane<J, Result> {
    let current: string
    const lane = createLane({
      ...options,
      onIdle() {
        lanes.delete(current)
        if (idle.length < MAX_IDLE) idle.push(open)
      },
    })
    function open(scope: string): Lane<J, Result> {
      current = scope
      lanes.set(scope, lane)
      return lane
    }
    return open
  }

  const laneOf = (scope: string) => lanes.get(scope) ?? (idle.pop() ?? createReusable())(scope)
  return { lanes, laneOf }
}
