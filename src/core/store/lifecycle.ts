/**
 * The rules of every write as pure functions: from the rows at a key, the usage of the scope and the command to the change
 * to make. An adapter reads the rows, calls the function and writes the change, all in one atomic step.
 */
export {
  hasExpired,
  NOTHING_LIVE,
  scopeOf,
  usageOf,
  type KeyChange,
  type LiveRows,
  type TrackedRow,
  type Unchanged,
} from './lifecycle/key-change.js'
export { planAdopt, planTransfer, planUpdate, receivesBytes } from './lifecycle/object-plans.js'
export {
  attemptRow,
  planConfirm,
  planPurge,
  planRelease,
  planRemove,
  planReserve,
  planSetUploadId,
} from './lifecycle/upload-plans.js'
