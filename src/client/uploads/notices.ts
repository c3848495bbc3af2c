/** A frame of most screens, in milliseconds. */
const FRAME = 16

/** Calls listeners after changes, at most once a frame. */
export function createNotices() {
  const listeners = new Set<{ readonly call: () => void }>()
  let timer: ReturnType<typeof setTimeout> | undefined
  const tell = () => {
    timer = undefined
    for (const listener of [...listeners]) {
      try {
        listener.call()
      } catch (error) {
        // One that throws must not stop the others. The page reports its error.
        setTimeout(() => {
          throw error
        })
      }
    }
  }
  return {
    /** Calls the listeners within a frame. */
    give: () => {
      if (listeners.size) timer ||= setTimeout(tell, FRAME)
    },
    subscribe: (call: () => void) => {
      // The same function may listen twice.
      const listener = { call }
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
      }
    },
  }
}
