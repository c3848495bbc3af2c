import { currentApi } from './clients.js'
import { byId } from './elements.js'
import { messageFor } from './error-messages.js'
import { quoted, shownName } from './names.js'
import { announce, notice } from './notices.js'
import { ownRequest, RequestError } from './requests.js'
import { files as countOf } from './units.js'

interface Note {
  readonly id: string
  readonly text: string
  readonly attachments: number
}

/** Lets the user write a note with attachments. Those of a note that isn't kept go by themselves. `changed` is called after each change. */
export function showNote(changed: () => void): { reset(): void } {
  const text = byId<HTMLTextAreaElement>('note-text')
  const chosen = byId<HTMLInputElement>('note-chosen')
  const keep = byId<HTMLButtonElement>('note-keep')
  const attached = byId('note-attached')
  let ids: string[] = []
  let uploading = 0
  /** Uploads and responses of an earlier draft are ignored. */
  let draft = 0

  byId('note-attach').addEventListener('click', () => chosen.click())
  chosen.addEventListener('change', () => {
    for (const file of chosen.files ?? []) void attach(file)
    chosen.value = ''
  })
  byId('note-form').addEventListener('submit', (event) => {
    event.preventDefault()
    void save()
  })

  async function attach(file: File): Promise<void> {
    const own = draft
    uploading += 1
    show()
    try {
      const { id } = await currentApi().upload(file, { route: 'attachments' })
      if (own !== draft) return
      ids.push(id)
      const item = document.createElement('li')
      item.textContent = shownName(file.name)
      attached.append(item)
      announce(`Attached ${quoted(file.name)}.`)
    } catch (error) {
      if (own === draft) notice(`Couldn’t attach ${quoted(file.name)}. ${messageFor(error, file)}`)
    } finally {
      if (own === draft) {
        uploading -= 1
        show()
        changed()
      }
    }
  }

  async function save(): Promise<void> {
    const own = draft
    keep.disabled = true
    try {
      await ownRequest('POST', '/notes', { body: { text: text.value, ids } })
      if (own !== draft) return
      clear()
      announce('The note is kept, and so are its files.')
      await list()
    } catch (error) {
      const isGone = error instanceof RequestError && error.status === 404
      if (own === draft)
        notice(
          isGone ? 'An attached file is gone. Attach it again.' : 'The note couldn’t be kept. Try again.',
        )
    } finally {
      show()
      changed()
    }
  }

  async function list(): Promise<void> {
    const own = draft
    const { notes } = (await ownRequest('GET', '/notes')) as { notes: readonly Note[] }
    if (own !== draft) return
    const items = notes.map((note) => {
      const item = document.createElement('li')
      item.textContent = note.attachments > 0 ? `${note.text} (${countOf(note.attachments)})` : note.text
      return item
    })
    byId('note-list').replaceChildren(...items)
  }

  function clear(): void {
    draft += 1
    ids = []
    uploading = 0
    text.value = ''
    attached.replaceChildren()
    show()
  }

  function show(): void {
    keep.disabled = uploading > 0
    byId('note-state').textContent = uploading > 0 ? `Attaching ${countOf(uploading)}…` : ''
  }

  return {
    reset() {
      clear()
      byId('note-list').replaceChildren()
      list().catch(() => undefined)
    },
  }
}
