import { createLane, type LaneOptions } from './lane.js'
import type { Job } from './waiting-jobs.js'

/** Idle lanes to keep for other scopes, because creating one costs more than running a job. */
const MAX_IDLE = 64

/** Creates a lane for each scope, for a database where a group has one scope. Idle scopes take no memory. */
export function createScopeLanes<J extends Job, Result>(options: LaneOptions<J, Result>) {
  const lanes = new Map<string, ReturnType<typeof createReusable>>()
  const idle: ReturnType<typeof createReusable>[] = []

  function createReusable() {
    const onIdle = () => {
      lanes.delete(reusable.scope)
      if (idle.length < MAX_IDLE) idle.push(reusable)
    }
    const reusable = { scope: '', lane: createLane({ ...options, onIdle }) }
    return reusable
  }

  function laneOf(scope: string) {
    const reusable = lanes.get(scope) ?? idle.pop() ?? createReusable()
    reusable.scope = scope
    lanes.set(scope, reusable)
    return reusable.lane
  }
  return { lanes, laneOf }
}
