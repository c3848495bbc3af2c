import type { DbClientObject, S3Api } from '@svc/db/client'
import { copyOf, part } from './elements.js'
import { announce, notice } from './notices.js'
import { confirmed } from './question.js'
import { messageFor } from './error-messages.js'
import { share } from './sharing.js'
import { inUnits, when } from './units.js'

export interface FileCardOptions {
  /** Whether others may open the file. */
  readonly isShared: boolean
  /** Runs after the user has deleted the file. */
  readonly deleted: () => void
}

/** Creates the card of a stored file, with preview, name and actions. */
export function fileCard(
  api: S3Api,
  object: DbClientObject,
  { isShared, deleted }: FileCardOptions,
): HTMLElement {
  const card = copyOf('file-template')
  const name = object.filename ?? object.key
  card.dataset['id'] = object.id
  const link = part<HTMLAnchorElement>(card, 'name')
  link.textContent = link.title = name
  link.href = api.fileURL({ id: object.id, disposition: 'inline' })
  part(card, 'facts').textContent = `${inUnits(object.size ?? 0)} · ${when(object.createdAt)}`
  part(card, 'extension').textContent = extensionOf(name)
  if (object.contentType?.startsWith('image/')) {
    // The server makes the thumbnail in the background. Until it exists, the card shows the picture itself.
    const thumbnail = api.fileURL({ key: `${object.key}.thumbnail`, disposition: 'inline' })
    void showPicture([thumbnail, link.href], part(card, 'preview'))
  }
  shareSwitch(part(card, 'share'), { id: object.id, name, isShared })

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

/** Returns the label for files without a picture. */
function extensionOf(name: string): string {
  const extension = /\.([^.\s]{1,5})$/u.exec(name)?.[1]
  return extension?.toUpperCase() ?? 'FILE'
}

/** Turns a button into the switch that shares a file. */
function shareSwitch(
  button: HTMLElement,
  { id, name, isShared }: { readonly id: string; readonly name: string; readonly isShared: boolean },
): void {
  let shared = isShared
  button.ariaLabel = button.title = `Share ${name} by its link`
  button.ariaPressed = String(shared)
  button.addEventListener('click', () => void toggle())

  async function toggle(): Promise<void> {
    try {
      await share(id, !shared)
    } catch {
      return notice(`Couldn’t change who can open “${name}”.`)
    }
    shared = !shared
    button.ariaPressed = String(shared)
    announce(
      shared ? `Everyone who is signed in can open ${name} by its link.` : `Only you can open ${name}.`,
    )
  }
}

/** Shows the first of these pictures that exists and can be decoded. If none does, the card keeps showing the extension. */
async function showPicture(urls: readonly string[], preview: HTMLElement): Promise<void> {
  for (const url of urls) {
    const image = new Image()
    // Decorative: the card shows the name as text.
    image.alt = ''
    image.decoding = 'async'
    image.src = url
    try {
      await image.decode()
    } catch {
      continue
    }
    preview.replaceChildren(image)
    return
  }
}

async function saveToDisk(api: S3Api, object: DbClientObject, name: string): Promise<void> {
  const { url } = await api.download(object)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
}
