import { StorageError } from '../../core/errors.js'
import { DRIVER_METHODS } from '../../core/store/driver-check.js'
import type { StoreDriver } from '../../core/store/driver.js'

export interface LateDriverOptions<Handle extends object> {
  /** Returns the connection that a call uses, and nothing before there is one. */
  readonly find: () => Handle | null | undefined
  /** The message of `DATABASE_UNAVAILABLE` until then. */
  readonly notOpen: string
  /** Creates the driver of a connection, once for each. */
  readonly open: (handle: Handle) => StoreDriver
}

/**
 * Creates a driver over connections that a function returns. Each call asks it once, and shares queues and batches only with calls of
 * the same connection: the runtimes of workers let no request wait for a connection of another.
 */
export function lateDriver<Handle extends object>(options: LateDriverOptions<Handle>): StoreDriver {
  const { find, notOpen, open } = options
  const drivers = new WeakMap<Handle, StoreDriver>()

  function current(): StoreDriver {
    const handle = find()
    if (handle === null || handle === undefined) {
      throw new StorageError('DATABASE_UNAVAILABLE', { message: notOpen })
    }
    const driver = drivers.get(handle) ?? open(handle)
    drivers.set(handle, driver)
    return driver
  }

  const methods = DRIVER_METHODS.map((name) => {
    const call = async (...args: unknown[]): Promise<unknown> =>
      (current()[name] as (...args: unknown[]) => unknown)(...args)
    return [name, call] as const
  })
  // A cast, because `Object.fromEntries` forgets the names. The application closes its own connections.
  return { ...(Object.fromEntries(methods) as unknown as StoreDriver), close: async () => {} }
}
