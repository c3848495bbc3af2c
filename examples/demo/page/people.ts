import { byId, copyOf, part } from './elements.js'
import { notice } from './notices.js'

interface Session {
  readonly users: readonly { readonly id: string; readonly name: string }[]
  readonly current: string
}

export interface SwitchEvents {
  /** Runs before the user switches; resolve to `false` to prevent it. */
  readonly beforeSwitch: () => Promise<boolean>
  /** Runs when the signed-in user differs from the one shown. */
  readonly switched: (name: string) => void
}

/** Shows the users and lets the visitor switch. Resolves to a function that asks the server again, as another tab may switch. */
export async function showPeople({ beforeSwitch, switched }: SwitchEvents): Promise<() => Promise<void>> {
  const people = byId('people')
  let shown: string | undefined

  function show({ users, current }: Session): void {
    const options = users.map(({ id, name }) => {
      const person = copyOf('person-template')
      const choice = part<HTMLInputElement>(person, 'choice')
      choice.value = id
      choice.checked = id === current
      choice.addEventListener('change', () => void switchTo(id))
      part(person, 'initial').textContent = name.slice(0, 1)
      part(person, 'name').textContent = name
      return person
    })
    people.querySelectorAll('.person').forEach((person) => person.remove())
    people.append(...options)
    const previous = shown
    shown = current
    if (previous !== current) switched(users.find(({ id }) => id === current)?.name ?? current)
  }

  async function switchTo(user: string): Promise<void> {
    await updateSession((await beforeSwitch()) ? user : null)
    people.querySelector<HTMLInputElement>('input:checked')?.focus()
  }

  /** Signs in as the given user; `null`: only reads the current one. */
  async function updateSession(user: string | null): Promise<void> {
    try {
      const response = await fetch('/session', user === null ? {} : change({ user }))
      if (!response.ok) throw new Error(`/session returned ${response.status}`)
      show((await response.json()) as Session)
    } catch {
      notice('Couldn’t load the signed-in user. Reload the page to try again.')
    }
  }

  await updateSession(null)
  return () => updateSession(null)
}

function change(body: object): RequestInit {
  return { method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
}
