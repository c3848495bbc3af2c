import { byId, copyOf, part } from './elements.js'
import { quoted } from './names.js'
import { ownRequest } from './requests.js'
import { inUnits } from './units.js'

/** Milliseconds between two requests while the panel is open. Events are delivered in the background. */
const INTERVAL = 3000

interface ObjectRecord {
  readonly key: string
  readonly scope: string
  readonly filename: string | null
  readonly size: number | null
  readonly declaredSize: number | null
}

type Entry = { readonly number: number; readonly at: string } & (
  | {
      readonly kind: 'reserved'
      readonly record: ObjectRecord
      readonly taken: number
      readonly quota: number
    }
  | { readonly kind: 'confirmed' | 'deleted'; readonly record: ObjectRecord }
  | { readonly kind: 'event'; readonly type: string; readonly record: ObjectRecord }
  | { readonly kind: 'refused'; readonly operation: string; readonly code: string; readonly message: string }
)

export interface Activity {
  /** Shows what has happened since. */
  refresh(): void
  /** Starts anew, for another user. */
  reset(): void
}

/** Shows in a panel what the library did for the signed-in user: records, quota decisions and events. */
export function showActivity(): Activity {
  const panel = byId<HTMLDetailsElement>('activity')
  const list = byId('activity-list')
  let last = 0
  let loading: AbortController | null = null

  async function load(): Promise<void> {
    if (!panel.open || loading) return
    loading = new AbortController()
    const { signal } = loading
    try {
      const news = await ownRequest('GET', `/activity?after=${last}`, { signal })
      const { entries, last: newest } = news as { entries: readonly Entry[]; last: number }
      if (signal.aborted) return
      // The server forgets what happened when it restarts.
      if (newest < last) return reset()
      last = newest
      list.prepend(...entries.map(row).reverse())
      byId('no-activity').hidden = list.children.length > 0
    } catch {
      // The next request shows it.
    } finally {
      if (!signal.aborted) loading = null
    }
  }

  function reset(): void {
    loading?.abort()
    loading = null
    last = 0
    list.replaceChildren()
    byId('no-activity').hidden = false
    void load()
  }

  panel.addEventListener('toggle', () => void load())
  setInterval(() => {
    if (document.visibilityState === 'visible') void load()
  }, INTERVAL)
  return { refresh: () => void load(), reset }
}

function row(entry: Entry): HTMLElement {
  const element = copyOf('activity-template')
  const time = new Date(entry.at)
  const shownTime = part<HTMLTimeElement>(element, 'time')
  shownTime.dateTime = entry.at
  shownTime.textContent = time.toLocaleTimeString('en', { hour12: false })
  part(element, 'kind').textContent = entry.kind
  element.dataset['kind'] = entry.kind
  part(element, 'text').textContent = textOf(entry)
  const record = 'record' in entry ? entry.record : null
  part(element, 'record').hidden = record === null
  part(element, 'json').textContent = JSON.stringify(record, null, 2)
  return element
}

function textOf(entry: Entry): string {
  if (entry.kind === 'refused') return `${entry.operation}: ${entry.code}. ${entry.message}`
  const { filename, key, size, declaredSize } = entry.record
  const name = quoted(filename ?? key)
  switch (entry.kind) {
    case 'reserved':
      return `${inUnits(declaredSize ?? 0)} for ${name}. With it, ${inUnits(entry.taken)} of ${inUnits(entry.quota)} are taken.`
    case 'confirmed':
      return `${name} is in the bucket with ${inUnits(size ?? 0)}. It counts as stored now.`
    case 'deleted':
      return `${name} and its ${inUnits(size ?? 0)} are free again.`
    case 'event':
      return `“${entry.type}” of ${name} was delivered to the event handler.`
  }
}
