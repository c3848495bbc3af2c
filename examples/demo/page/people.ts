import { byId, copyOf, part } from './elements.js'
import { dismissNotice, notice } from './notices.js'
import { currentUser, ownRequest, RequestError, showUser } from './requests.js'
import { tellOtherWindows } from './windows.js'

interface Session {
  readonly users: readonly { readonly id: string; readonly name: string }[]
  readonly current: string
}

export interface SwitchEvents {
  /** Runs before the user switches; resolve to `false` to prevent it. */
  readonly beforeSwitch: () => Promise<boolean>
  /** Runs when the window shows another user than before. */
  readonly switched: (name: string) => void
}

/** Shows the users and lets the visitor switch. Returns a function that asks the server who is signed in, as another window may switch. */
export function showPeople({ beforeSwitch, switched }: SwitchEvents): () => Promise<void> {
  const people = byId('people')
  let session: Session | null = null

  function show(shown: Session): void {
    const { users, current } = shown
    const previous = currentUser()
    session = shown
    const options = users.map(({ id, name }) => {
      const person = copyOf('person-template')
      const choice = part<HTMLInputElement>(person, 'choice')
      choice.value = id
      choice.checked = id === current
      choice.addEventListener('change', () => void switchTo(id, name))
      part(person, 'initial').textContent = name.slice(0, 1)
      part(person, 'name').textContent = name
      return person
    })
    const hadFocus = people.contains(document.activeElement)
    people.querySelectorAll('.person').forEach((person) => person.remove())
    people.append(...options)
    if (hadFocus) people.querySelector<HTMLInputElement>('input:checked')?.focus()
    showUser(current)
    dismissNotice('session')
    if (previous !== current) switched(users.find(({ id }) => id === current)?.name ?? current)
  }

  async function switchTo(user: string, name: string): Promise<void> {
    // Without this, the name of one person would stand above the files of another while the switch is decided.
    if (session) show(session)
    if (!(await beforeSwitch())) return
    try {
      show((await ownRequest('PUT', '/session', { body: { user } })) as Session)
      tellOtherWindows('user')
    } catch (error) {
      if (error instanceof RequestError && error.status === 403) return refresh()
      notice(`Couldn’t switch to ${name}. Try again.`, 'session')
    }
  }

  async function refresh(): Promise<void> {
    try {
      show(await readSession())
    } catch (error) {
      const hasEnded = error instanceof RequestError && error.status === 401
      notice(
        hasEnded
          ? 'Your session has expired. Reload the page to continue.'
          : 'The server can’t be reached. The page tries again when you return to it.',
        'session',
      )
    }
  }

  return refresh
}

/** Reads the session without saying who this window shows. */
async function readSession(): Promise<Session> {
  const response = await fetch('/session').catch((cause: unknown) => {
    throw new RequestError(null, 'GET /session', { cause })
  })
  if (!response.ok) throw new RequestError(response.status, 'GET /session')
  return (await response.json()) as Session
}
