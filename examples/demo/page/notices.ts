import { byId, copyOf, part } from './elements.js'

/** Shows a message until the user dismisses it. Screen readers read it at once. */
export function notice(message: string): void {
  const element = copyOf('notice-template')
  part(element, 'text').textContent = message
  part(element, 'close').addEventListener('click', () => element.remove())
  const notices = byId('notices')
  for (const older of notices.children) if (older.textContent?.trim() === message) older.remove()
  notices.append(element)
}

/** Has screen readers read a message that is not shown. */
export function announce(message: string): void {
  byId('announcer').textContent = message
}
