import { byId, copyOf, part } from './elements.js'

export interface ToastOptions {
  readonly seconds?: number
  /** A button next to the message. */
  readonly action?: { readonly label: string; readonly run: () => void }
  /** Runs when the time is over or the action was used. */
  readonly closed?: () => void
}

export interface Toast {
  /** Removes the message. */
  close(): void
}

/** Shows a message at the bottom of the page for some seconds. Screen readers read it when they are idle. */
export function toast(message: string, { seconds = 6, action, closed }: ToastOptions = {}): Toast {
  const element = copyOf('toast-template')
  part(element, 'text').textContent = message
  const button = part<HTMLButtonElement>(element, 'action')
  button.hidden = action === undefined
  button.textContent = action?.label ?? ''
  button.addEventListener('click', () => {
    action?.run()
    close()
  })
  part(element, 'close').addEventListener('click', close)
  const timer = setTimeout(close, seconds * 1000)

  function close(): void {
    if (!element.isConnected) return
    clearTimeout(timer)
    element.remove()
    closed?.()
  }

  byId('toasts').append(element)
  return { close }
}
