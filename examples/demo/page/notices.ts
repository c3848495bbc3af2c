import { byId, copyOf, part } from './elements.js'

/** Shows a message until the user dismisses it. Screen readers read it at once. A later message with the same topic replaces it. */
export function notice(message: string, topic = message): void {
  const element = copyOf('notice-template')
  element.dataset['topic'] = topic
  part(element, 'text').textContent = message
  part(element, 'close').addEventListener('click', () => element.remove())
  const shown = noticeOf(topic)
  if (shown && part(shown, 'text').textContent === message) return
  shown?.remove()
  byId('notices').append(element)
}

/** Removes the message of a topic, because it is no longer true. */
export function dismissNotice(topic: string): void {
  noticeOf(topic)?.remove()
}

function noticeOf(topic: string): HTMLElement | undefined {
  const notices = [...byId('notices').children] as HTMLElement[]
  return notices.find((element) => element.dataset['topic'] === topic)
}

/** Has screen readers read a message that is not shown. */
export function announce(message: string): void {
  byId('announcer').textContent = message
}
