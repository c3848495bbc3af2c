import type { DbClientObject, S3Api } from '@svc/db/client'
import { copyOf, part } from './elements.js'
import { announce, notice } from './notices.js'
import { confirmed } from './question.js'
import { messageFor } from './error-messages.js'
import { inUnits, when } from './units.js'

/** Creates the card of a stored file, with preview, name and actions. Calls `deleted` after the user deletes the file. */
export function fileCard(api: S3Api, object: DbClientObject, deleted: () => void): HTMLElement {
  const card = copyOf('file-template')
  const name = object.filename ?? object.key
  card.dataset['id'] = object.id
  part(card, 'name').textContent = name
  part(card, 'name').title = name
  part(card, 'facts').textContent = `${inUnits(object.size ?? 0)} · ${when(object.createdAt)}`
  part(card, 'extension').textContent = extensionOf(name)
  if (object.contentType?.startsWith('image/')) void showThumbnail(api, object, part(card, 'preview'))

  const download = part<HTMLButtonElement>(card, 'download')
  download.ariaLabel = download.title = `Download ${name}`
  download.addEventListener('click', () => {
    saveToDisk(api, object, name).catch((error: unknown) => notice(messageFor(error, { name })))
  })

  const remove = part<HTMLButtonElement>(card, 'delete')
  remove.ariaLabel = remove.title = `Delete ${name}`
  remove.addEventListener('click', () => void askAndDelete())

  async function askAndDelete(): Promise<void> {
    if (!(await confirmed(`Delete “${name}”? This can’t be undone.`, 'Delete'))) return
    card.classList.add('leaving')
    try {
      await api.delete(object)
    } catch (error) {
      notice(messageFor(error, { name }))
      card.classList.remove('leaving')
      return
    }
    announce(`Deleted ${name}.`)
    deleted()
  }

  return card
}

/** Returns the label for files without a thumbnail. */
function extensionOf(name: string): string {
  const extension = /\.([^.\s]{1,5})$/u.exec(name)?.[1]
  return extension?.toUpperCase() ?? 'FILE'
}

async function showThumbnail(api: S3Api, object: DbClientObject, preview: HTMLElement): Promise<void> {
  const image = new Image()
  // Decorative: the card shows the name as text.
  image.alt = ''
  image.decoding = 'async'
  try {
    const { url } = await api.download(object)
    image.src = url
    await image.decode()
    preview.replaceChildren(image)
  } catch {
    // Not a valid image, or already deleted. The card keeps showing the extension.
  }
}

async function saveToDisk(api: S3Api, object: DbClientObject, name: string): Promise<void> {
  const { url } = await api.download(object)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
}
