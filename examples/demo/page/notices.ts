import { byId, copyOf, part } from './elements.js'

/** Shows a sentence until it is dismissed, and has screen readers say it at once. */
export function notice(sentence: string): void {
  const element = copyOf('notice-template')
  part(element, 'text').textContent = sentence
  part(element, 'close').addEventListener('click', () => element.remove())
  const notices = byId('notices')
  for (const older of notices.children) if (older.textContent?.trim() === sentence) older.remove()
  notices.append(element)
}

/** Has screen readers say what everybody else can see. */
export function announce(sentence: string): void {
  byId('announcer').textContent = sentence
}
