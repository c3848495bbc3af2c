import { vi } from 'vitest'

/** Has the page's events come from a target that the test dispatches them to. */
export function stubPageEvents(events: EventTarget): void {
  vi.stubGlobal('addEventListener', events.addEventListener.bind(events))
  vi.stubGlobal('removeEventListener', events.removeEventListener.bind(events))
}
