import { currentApi } from './clients.js'
import { byId, copyOf, part } from './elements.js'
import { messageFor } from './error-messages.js'
import { quoted, showName, shownName } from './names.js'
import { announce, notice } from './notices.js'
import { currentUser, ownRequest } from './requests.js'

interface BoardFile {
  readonly id: string
  readonly key: string
  readonly filename: string
  readonly isOwn: boolean
}

interface Board {
  readonly waiting: readonly BoardFile[]
  readonly accepted: readonly BoardFile[]
  /** Those of the signed-in user. */
  readonly refused: readonly { readonly filename: string; readonly reason: string | null }[]
}

/** Milliseconds between two requests while a file of the user is being checked. */
const INTERVAL = 3000

/** Shows the files that everyone can open once another person has accepted them. `changed` is called after each change. */
export function showBoard(changed: () => void): { refresh(): void } {
  const chosen = byId<HTMLInputElement>('board-chosen')
  const list = byId('board-list')
  let isWaiting = false

  byId('board-choose').addEventListener('click', () => chosen.click())
  chosen.addEventListener('change', () => {
    for (const file of chosen.files ?? []) void put(file)
    chosen.value = ''
  })
  setInterval(() => {
    if (isWaiting && document.visibilityState === 'visible') void refresh()
  }, INTERVAL)

  async function put(file: File): Promise<void> {
    const user = currentUser()
    byId('board-state').textContent = `Uploading ${shownName(file.name)}…`
    try {
      const { checking } = await currentApi().upload(file, { route: 'board' })
      if (checking) announce(`${quoted(file.name)} is being checked.`)
    } catch (error) {
      if (user === currentUser()) {
        notice(`Couldn’t put ${quoted(file.name)} on the board. ${messageFor(error, file)}`)
      }
    }
    byId('board-state').textContent = ''
    await refresh()
    changed()
  }

  async function refresh(): Promise<void> {
    const user = currentUser()
    try {
      const board = (await ownRequest('GET', '/board')) as Board
      if (user === currentUser()) show(board)
    } catch {
      // The next request shows it.
    }
  }

  function show({ waiting, accepted, refused }: Board): void {
    isWaiting = waiting.some(({ isOwn }) => isOwn)
    const rows = [
      ...waiting.map((file) => row(file, file.isOwn ? 'Being checked' : 'Waits for you')),
      ...accepted.map((file) => row(file, '', `/api/s3/file?id=${file.id}`)),
      ...refused.map(({ filename, reason }) => row(null, reason ?? 'Refused', undefined, filename)),
    ]
    const text = rows.map(({ textContent }) => textContent).join('\n')
    // What is unchanged keeps the focus.
    if (list.dataset['shown'] === text) return
    list.dataset['shown'] = text
    list.replaceChildren(...rows)
  }

  /** A file, or the name of one that was refused. */
  function row(file: BoardFile | null, state: string, href?: string, refused?: string): HTMLElement {
    const element = copyOf('board-template')
    const [look, accept, refuse, take] = ['look', 'accept', 'refuse', 'take'].map((name) =>
      part<HTMLButtonElement>(element, name),
    ) as [HTMLElement, HTMLButtonElement, HTMLButtonElement, HTMLButtonElement]
    const filename = file?.filename ?? refused ?? ''
    const name = part<HTMLAnchorElement>(element, 'name')
    showName(name, filename)
    if (href) name.href = href
    part(element, 'state').textContent = state
    const mayDecide = file !== null && !file.isOwn && !href
    look.hidden = accept.hidden = refuse.hidden = !mayDecide
    take.hidden = !file?.isOwn
    const labels: readonly [HTMLElement, string][] = [
      [look, `Download ${shownName(filename)} to look at it`],
      [accept, `Accept ${shownName(filename)}`],
      [refuse, `Refuse ${shownName(filename)}`],
      [take, `Take ${shownName(filename)} off the board`],
    ]
    for (const [button, label] of labels) button.ariaLabel = label
    if (!file) return element
    const { id, key } = file
    look.setAttribute('href', `/board/${id}/bytes`)
    const decide = (verdict: string) => () => run(filename, ownRequest('POST', `/board/${id}/${verdict}`))
    accept.addEventListener('click', () => void decide('accept')())
    refuse.addEventListener('click', () => void decide('reject')())
    take.addEventListener('click', () => void run(filename, currentApi().delete({ key })))
    return element
  }

  async function run(name: string, call: Promise<unknown>): Promise<void> {
    try {
      await call
    } catch (error) {
      notice(messageFor(error, { name }))
    }
    await refresh()
    changed()
  }

  return {
    refresh() {
      void refresh()
    },
  }
}
