import type { RecordedLeftover, StoreDriver } from './driver.js'
import type { Leftover } from './records.js'
import { unsupportedCall } from './unsupported-call.js'

/** The methods that drivers of 1.5 lack. */
type OptionalMethod = {
  [Name in keyof StoreDriver]-?: undefined extends StoreDriver[Name]
    ? Name extends 'contract'
      ? never
      : Name
    : never
}[keyof StoreDriver]

/** Returns access to what a driver of 1.5 lacks, which throws a `TypeError` if this driver lacks it. */
export function newerParts(driver: StoreDriver) {
  /** Refuses a field that a driver of 1.5 would ignore. */
  function needsContract(feature: string, value: unknown): void {
    if (value === null || driver.contract === '1.6') return
    throw unsupportedCall(
      `${feature} needs a StoreDriver with contract: '1.6', and this driver declares none.`,
    )
  }

  /** Returns an optional method of the driver, which must be called at once. */
  function method<Name extends OptionalMethod>(name: Name, call = `${name}()`): Required<StoreDriver>[Name] {
    const found = driver[name]
    if (!found) {
      throw unsupportedCall(
        `${call} needs the method "${name}" of StoreDriver, and this driver does not have it.`,
      )
    }
    return found.bind(driver) as Required<StoreDriver>[Name]
  }

  return { needsContract, method }
}

/** Leaves out what a driver of 1.5 may return by chance, because it doesn't store it reliably. */
export function olderLeftover(leftover: RecordedLeftover): Leftover {
  return { ...leftover, scope: null, dueAt: null }
}

export function completeLeftover(leftover: RecordedLeftover): Leftover {
  return { ...leftover, scope: leftover.scope ?? null, dueAt: leftover.dueAt ?? null }
}
