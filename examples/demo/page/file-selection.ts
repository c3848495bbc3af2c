import { byId } from './elements.js'
import type { FileCard } from './file-card.js'
import { files } from './units.js'

export interface FileSelection {
  /** Shows the number of selected files. */
  update(): void
  clear(): void
}

/** Shows the actions for selected files. `visible` returns the cards that the user sees. */
export function fileSelection(
  visible: () => readonly FileCard[],
  deleteFiles: (cards: readonly FileCard[]) => void,
): FileSelection {
  const selected = () => visible().filter(({ checkbox }) => checkbox.checked)

  function update(): void {
    const count = selected().length
    byId('selection').hidden = count === 0
    byId('selection-count').textContent = `${files(count)} selected`
    byId('file-list').classList.toggle('selecting', count > 0)
  }

  function check(isChecked: boolean): void {
    for (const { checkbox } of visible()) checkbox.checked = isChecked
    update()
  }

  byId('select-all').addEventListener('click', () => check(true))
  byId('select-none').addEventListener('click', () => {
    check(false)
    byId('files-heading').focus()
  })
  byId('delete-selected').addEventListener('click', () => {
    deleteFiles(selected())
    update()
    byId('files-heading').focus()
  })

  return { update, clear: () => check(false) }
}
