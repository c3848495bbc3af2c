import { byId } from './elements.js'
import { notice } from './notices.js'

/** Takes files from the chooser and from anywhere on the page where they are dropped. */
export function takeFiles(take: (files: File[]) => void): void {
  const chosen = byId<HTMLInputElement>('chosen')
  byId('choose').addEventListener('click', () => chosen.click())
  chosen.addEventListener('change', () => {
    take([...(chosen.files ?? [])])
    // So that the same file can be chosen again.
    chosen.value = ''
  })

  const carriesFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false
  const mark = (over: boolean) => document.body.classList.toggle('dragging', over)
  // Without these a browser would leave the page and open the file.
  document.addEventListener('dragover', (event) => {
    if (!carriesFiles(event)) return
    event.preventDefault()
    mark(true)
  })
  document.addEventListener('dragleave', (event) => {
    if (event.relatedTarget === null) mark(false)
  })
  document.addEventListener('drop', (event) => {
    mark(false)
    if (!carriesFiles(event)) return
    event.preventDefault()
    take(droppedFiles(event.dataTransfer))
  })
}

/** Browsers hand over a folder as a file that nobody can read. */
function droppedFiles(dropped: DataTransfer | null): File[] {
  const items = [...(dropped?.items ?? [])].filter(({ kind }) => kind === 'file')
  const files = items.filter((item) => !item.webkitGetAsEntry()?.isDirectory)
  if (files.length < items.length) notice('Folders can’t be uploaded. Drop the files that are in them.')
  return files.map((item) => item.getAsFile()).filter((file) => file !== null)
}
