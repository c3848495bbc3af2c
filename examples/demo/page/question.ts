import { byId } from './elements.js'

/** Asks the user to confirm an action that can't be undone. */
export async function confirmed(question: string, yes: string): Promise<boolean> {
  byId('question-text').textContent = question
  byId('question-yes').textContent = yes
  return (await closed(byId<HTMLDialogElement>('question'))) === 'yes'
}

export interface FileLabel {
  readonly name: string
  /** Empty: none. */
  readonly album: string
}

/** Asks for a new filename and an album. Resolves to `null` if the user cancels or changes nothing. */
export async function askedLabel({ name, album }: FileLabel): Promise<FileLabel | null> {
  const input = byId<HTMLInputElement>('new-name')
  const albumInput = byId<HTMLInputElement>('new-album')
  const dialog = byId<HTMLDialogElement>('rename')
  input.value = name
  albumInput.value = album
  // Not a submit button: the first one in a form is what the Enter key presses.
  byId('rename-cancel').onclick = () => dialog.close('no')
  const answer = closed(dialog)
  // Typing replaces the name, but not the extension.
  input.setSelectionRange(0, /^.+(?=\.[^.]+$)/u.exec(name)?.[0].length ?? name.length)
  const isGiven = (await answer) === 'yes' && input.value.trim() !== ''
  const given = { name: input.value === name ? name : input.value.trim(), album: albumInput.value.trim() }
  return isGiven && (given.name !== name || given.album !== album) ? given : null
}

/** Opens a dialog. Resolves to the value of the button that closed it. */
function closed(dialog: HTMLDialogElement): Promise<string> {
  dialog.returnValue = 'no'
  dialog.showModal()
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => resolve(dialog.returnValue), { once: true })
  })
}
