/** What other windows of the page have to know. */
type Change = 'user' | 'files'

const channel = new BroadcastChannel('stash')

/** Tells the other windows of this browser that something has changed. */
export function tellOtherWindows(change: Change): void {
  channel.postMessage(change)
}

/** Calls `changed` when another window has changed something, and when this window comes back to the front or online. */
export function onReturn(changed: (isBack: boolean) => void): void {
  channel.addEventListener('message', () => changed(false))
  addEventListener('online', () => changed(true))
  addEventListener('pageshow', ({ persisted }) => persisted && changed(true))
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'visible') changed(true)
  })
  addEventListener('focus', () => changed(true))
}
