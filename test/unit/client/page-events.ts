import { vi } from 'vitest'

/** Has the page's events come from a target that the test dispatches them to. As in browsers of 2020, listeners have no options. */
export function stubPageEvents(events: EventTarget): void {
  vi.stubGlobal('addEventListener', (name: string, listener: () => void) =>
    events.addEventListener(name, listener),
  )
  vi.stubGlobal('removeEventListener', events.removeEventListener.bind(events))
}
