import { byId } from './elements.js'

/** Asks the user to confirm an action that can't be undone. */
export function confirmed(question: string, yes: string): Promise<boolean> {
  const dialog = byId<HTMLDialogElement>('question')
  byId('question-text').textContent = question
  byId('question-yes').textContent = yes
  dialog.returnValue = 'no'
  dialog.showModal()
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes'), { once: true })
  })
}
