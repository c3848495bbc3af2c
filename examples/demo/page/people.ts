import { byId, copyOf, part } from './elements.js'
import { notice } from './notices.js'

interface Session {
  readonly users: readonly { readonly id: string; readonly name: string }[]
  readonly current: string
}

export interface Moves {
  /** Runs before somebody else signs in; `false` refuses. */
  readonly leave: () => Promise<boolean>
  /** Runs when it turns out that somebody else is signed in than was shown. */
  readonly arrive: (name: string) => void
}

/** Shows who is signed in and lets one be somebody else. What it resolves to asks the server again: another tab may have switched. */
export async function showPeople({ leave, arrive }: Moves): Promise<() => Promise<void>> {
  const people = byId('people')
  let shown: string | undefined

  function show({ users, current }: Session): void {
    const options = users.map(({ id, name }) => {
      const person = copyOf('person-template')
      const choice = part<HTMLInputElement>(person, 'choice')
      choice.value = id
      choice.checked = id === current
      choice.addEventListener('change', () => void become(id))
      part(person, 'initial').textContent = name.slice(0, 1)
      part(person, 'name').textContent = name
      return person
    })
    people.querySelectorAll('.person').forEach((person) => person.remove())
    people.append(...options)
    const before = shown
    shown = current
    if (before !== current) arrive(users.find(({ id }) => id === current)?.name ?? current)
  }

  async function become(user: string): Promise<void> {
    await ask((await leave()) ? user : null)
    people.querySelector<HTMLInputElement>('input:checked')?.focus()
  }

  /** Signs in as that user, or only asks who is. */
  async function ask(user: string | null): Promise<void> {
    try {
      const response = await fetch('/session', user === null ? {} : change({ user }))
      if (!response.ok) throw new Error(`/session answered ${response.status}`)
      show((await response.json()) as Session)
    } catch {
      notice('Who is signed in can’t be told right now. Reload the page to try again.')
    }
  }

  await ask(null)
  return () => ask(null)
}

function change(body: object): RequestInit {
  return { method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
}
