import { byId } from './elements.js'
import { notice } from './notices.js'

/** Calls `take` with files from the file chooser and with files dropped anywhere on the page. */
export function takeFiles(take: (files: File[]) => void): void {
  const chosen = byId<HTMLInputElement>('chosen')
  byId('choose').addEventListener('click', () => chosen.click())
  chosen.addEventListener('change', () => {
    take([...(chosen.files ?? [])])
    // Without this, choosing the same file again fires no event.
    chosen.value = ''
  })

  const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false
  const mark = (over: boolean) => document.body.classList.toggle('dragging', over)
  // Otherwise the browser leaves the page and opens the file.
  document.addEventListener('dragover', (event) => {
    if (!hasFiles(event)) return
    event.preventDefault()
    mark(true)
  })
  document.addEventListener('dragleave', (event) => {
    if (event.relatedTarget === null) mark(false)
  })
  document.addEventListener('drop', (event) => {
    mark(false)
    if (!hasFiles(event)) return
    event.preventDefault()
    take(droppedFiles(event.dataTransfer))
  })
}

/** Returns the dropped files without folders, which browsers represent as unreadable files. */
function droppedFiles(dropped: DataTransfer | null): File[] {
  const items = [...(dropped?.items ?? [])].filter(({ kind }) => kind === 'file')
  const files = items.filter((item) => !item.webkitGetAsEntry()?.isDirectory)
  if (files.length < items.length) notice('Folders can’t be uploaded. Drop the files inside them instead.')
  return files.map((item) => item.getAsFile()).filter((file) => file !== null)
}
