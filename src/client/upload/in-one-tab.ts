import type { KeptAttempt, Slot } from './kept-attempts.js'

/** The slots that this page has worked on and not cleared; `true`: it still works on it. */
const ownSlots = new Map<string, boolean>()

/**
 * Runs `work` on a slot, unless an upload or another tab works on it. Resolves to `undefined` then. Browsers
 * have locks only on secure pages. Without them, this excludes only the work of this page.
 */
export async function inOneTab<Result>(
  slot: Slot,
  work: () => Promise<Result>,
  isNew = false,
): Promise<Result | undefined> {
  const { name } = slot
  if (ownSlots.get(name)) return undefined
  ownSlots.set(name, true)
  let started = false
  const start = () => {
    started = true
    return work()
  }
  try {
    return await navigator.locks.request(name, { ifAvailable: true }, (lock) =>
      lock || isNew ? start() : undefined,
    )
  } catch (error) {
    // Without locks, or on a page with an opaque origin, which can't use them.
    if (started) throw error
    return await start()
  } finally {
    if (slot.read()) ownSlots.set(name, false)
    else ownSlots.delete(name)
  }
}

/** Returns whether an attempt may be in progress. Without locks, another tab's may be until its upload URL has expired. */
export async function mayBeInProgress({ name }: Slot, { until }: KeptAttempt): Promise<boolean> {
  const own = ownSlots.get(name)
  if (own) return true
  try {
    const { held = [] } = await navigator.locks.query()
    return held.some((lock) => lock.name === name)
  } catch {
    return own === undefined && until > Date.now()
  }
}
