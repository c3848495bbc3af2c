import type { UnfinishedUpload } from '@svc/db/client'
import { currentApi } from './clients.js'
import { byId, copyOf, part } from './elements.js'
import { showName, shownName } from './names.js'
import { currentUser } from './requests.js'
import { toast } from './toasts.js'
import { files, inUnits } from './units.js'

const TIMEOUT_SECONDS = 30

export interface UnfinishedUploadsOptions {
  /** Whether this window lists the upload itself. */
  readonly isListed: (upload: UnfinishedUpload) => boolean
  /** Opens the file chooser. */
  readonly choose: () => void
  /** Files were confirmed, or reservations ended. */
  readonly settled: () => void
}

/**
 * Settles the uploads that a reload, a crash or a lost network has cut off, and shows those that can be resumed as rows.
 * Returns a function that does this again.
 */
export function showUnfinishedUploads({
  isListed,
  choose,
  settled,
}: UnfinishedUploadsOptions): () => Promise<void> {
  const list = byId('unfinished-list')
  let running: string | null | undefined

  async function refresh(): Promise<void> {
    const user = currentUser()
    if (running === user) return
    running = user
    const api = currentApi()
    try {
      const { confirmed, ended } = await api.settleUploads({ timeoutSeconds: TIMEOUT_SECONDS })
      if (confirmed > 0) toast(`Completed the upload of ${files(confirmed)} that was interrupted.`)
      if (ended > 0) toast(`Ended the upload of ${files(ended)} that was interrupted.`)
      if (confirmed + ended > 0) settled()
      const unfinished = await api.unfinishedUploads({ timeoutSeconds: TIMEOUT_SECONDS })
      if (user === currentUser()) show(unfinished)
    } catch {
      // The rows stay as they are until the server can be reached.
    } finally {
      if (running === user) running = undefined
    }
  }

  function show(uploads: readonly UnfinishedUpload[]): void {
    const rows = uploads
      // The board shows what is being checked.
      .filter((upload) => !isListed(upload) && !upload.object.checking)
      .map(row)
    const hadFocus = list.contains(document.activeElement)
    list.replaceChildren(...rows)
    byId('unfinished').hidden = rows.length === 0
    if (hadFocus) (list.querySelector<HTMLElement>('button') ?? byId('choose')).focus()
  }

  function row(upload: UnfinishedUpload): HTMLElement {
    const { filename, loaded, size } = upload
    const element = copyOf('unfinished-template')
    const name = shownName(filename)
    showName(part(element, 'name'), filename)
    part(element, 'state').textContent = `${inUnits(loaded)} of ${inUnits(size)} arrived`
    const resume = part<HTMLButtonElement>(element, 'resume')
    resume.ariaLabel = `Resume ${name}`
    resume.addEventListener('click', () => {
      toast(`Choose ${name} again. Only the missing part is sent.`)
      choose()
    })
    const discard = part<HTMLButtonElement>(element, 'discard')
    discard.ariaLabel = `Discard ${name}`
    discard.addEventListener('click', () => void end())

    async function end(): Promise<void> {
      element.classList.add('leaving')
      await upload.discard({ timeoutSeconds: TIMEOUT_SECONDS }).catch(() => {
        toast('The server can’t be reached. The upload is discarded later.')
      })
      settled()
      await refresh()
    }
    return element
  }

  return refresh
}
