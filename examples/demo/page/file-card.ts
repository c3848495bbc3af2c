import type { DbClientObject, S3Api } from '@svc/db/client'
import type { Api } from './clients.js'
import { copyOf, part } from './elements.js'
import { isGone, isOtherUser, messageFor } from './error-messages.js'
import { share } from './file-requests.js'
import { quoted, showName, shownName } from './names.js'
import { announce, notice } from './notices.js'
import { askedLabel } from './question.js'
import { inUnits, when } from './units.js'

/** A stored file, and whether others may open it. */
export interface StoredFile {
  readonly object: DbClientObject
  readonly isShared: boolean
}

export interface FileCardEvents {
  /** The user wants to delete the file. */
  delete(): void
  /** The file no longer exists. */
  gone(): void
  /** A call was refused because another window has switched users. */
  otherUser(): void
  /** The user has changed the file. */
  changed(file: StoredFile): void
  /** The user has selected the file, or cleared that. */
  selected(): void
}

export interface FileCard {
  readonly element: HTMLElement
  readonly file: StoredFile
  readonly checkbox: HTMLInputElement
  /** Shows the file as it is now. */
  show(file: StoredFile): void
}

export const nameOf = ({ filename, key }: DbClientObject): string => filename ?? key

const albumOf = ({ metadata }: DbClientObject): string => metadata?.['album'] ?? ''

/** Creates the card of a stored file, with preview, name and actions. */
export function fileCard(api: Api, initial: StoredFile, events: FileCardEvents): FileCard {
  const element = copyOf('file-template')
  const checkbox = part<HTMLInputElement>(element, 'select')
  const buttons = {
    share: part<HTMLButtonElement>(element, 'share'),
    rename: part<HTMLButtonElement>(element, 'rename'),
    download: part<HTMLButtonElement>(element, 'download'),
    delete: part<HTMLButtonElement>(element, 'delete'),
  }
  let file = initial

  function show(shown: StoredFile): void {
    file = shown
    const { object, isShared } = shown
    const name = shownName(nameOf(object))
    showName(part(element, 'name'), nameOf(object))
    const album = albumOf(object)
    part(element, 'facts').textContent = [
      inUnits(object.size ?? 0),
      when(object.createdAt),
      ...(album === '' ? [] : [shownName(album)]),
    ].join(' · ')
    part(element, 'extension').textContent = extensionOf(nameOf(object))
    checkbox.ariaLabel = `Select ${name}`
    buttons.share.ariaPressed = String(isShared)
    for (const [action, words] of [
      ['share', `Share ${name} by its link`],
      ['rename', `Rename ${name}`],
      ['download', `Download ${name}`],
      ['delete', `Delete ${name}`],
    ] as const) {
      buttons[action].ariaLabel = buttons[action].title = words
    }
  }

  /** Runs a call about the file, and shows how it failed. */
  async function attempt(call: () => Promise<void>): Promise<void> {
    try {
      await call()
    } catch (error) {
      if (isOtherUser(error)) return events.otherUser()
      notice(messageFor(error, { name: nameOf(file.object) }))
      if (isGone(error)) events.gone()
    }
  }

  async function toggleSharing(): Promise<void> {
    const isShared = !file.isShared
    await share(file.object.id, isShared)
    show({ ...file, isShared })
    events.changed(file)
    const name = quoted(nameOf(file.object))
    announce(
      isShared ? `Everyone who is signed in can open ${name} by its link.` : `Only you can open ${name}.`,
    )
  }

  async function askAndRename(): Promise<void> {
    const label = { name: nameOf(file.object), album: albumOf(file.object) }
    const wanted = await askedLabel(label)
    if (wanted === null) return
    const { id } = file.object
    const setMetadata = { album: wanted.album || null }
    const object = await api.db.updateObject({ id, filename: wanted.name, setMetadata })
    show({ ...file, object })
    events.changed(file)
    if (wanted.name !== label.name) announce(`Renamed to ${quoted(nameOf(object))}.`)
    else announce(wanted.album ? `Put into ${quoted(wanted.album)}.` : 'Taken out of its album.')
  }

  show(initial)
  const { object } = initial
  element.dataset['id'] = object.id
  const url = api.fileURL({ id: object.id, disposition: 'inline' })
  for (const name of ['name', 'open']) part<HTMLAnchorElement>(element, name).href = url
  if (object.contentType?.startsWith('image/')) {
    // The server makes the thumbnail in the background. Until it exists, the card shows the picture itself.
    const thumbnail = api.fileURL({ key: `${object.key}.thumbnail`, disposition: 'inline' })
    void showPicture([thumbnail, url], element)
  }
  checkbox.addEventListener('change', () => events.selected())
  buttons.share.addEventListener('click', () => void attempt(toggleSharing))
  buttons.rename.addEventListener('click', () => void attempt(askAndRename))
  buttons.download.addEventListener('click', () => void attempt(() => saveToDisk(api, file.object)))
  buttons.delete.addEventListener('click', () => events.delete())

  return {
    element,
    checkbox,
    show,
    get file() {
      return file
    },
  }
}

/** Returns the label for files without a picture. */
function extensionOf(name: string): string {
  const extension = /\.([^.\s]{1,5})$/u.exec(name)?.[1]
  return shownName(extension?.toUpperCase() ?? 'FILE')
}

/** Shows the first of these pictures that exists and can be decoded. If none does, the card keeps showing the extension. */
async function showPicture(urls: readonly string[], card: HTMLElement): Promise<void> {
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
    part(card, 'extension').hidden = true
    part(card, 'open').append(image)
    return
  }
}

async function saveToDisk(api: S3Api, object: DbClientObject): Promise<void> {
  const { url } = await api.download(object)
  const link = document.createElement('a')
  link.href = url
  link.download = nameOf(object)
  link.click()
}
