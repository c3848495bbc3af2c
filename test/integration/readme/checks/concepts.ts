import type { StorageObjectStore } from '@svc/db'
import { expect, vi } from 'vitest'
import { run, type SnippetCheck, type SnippetChecks } from '../programs.js'

interface EventsProgram {
  readonly store: StorageObjectStore
  readonly handleDueEvents: () => Promise<void>
}

const handlesEventsOnce: SnippetCheck = async (program) => {
  const { store, handleDueEvents } = await run<EventsProgram>(program)
  const at = { bucket: 'files', key: 'a.txt' }
  const expiresAt = new Date(Date.now() + 60_000)
  const { id } = await store.reserve({ ...at, scope: 'ann', declaredSize: 1, expiresAt })
  await store.confirm({ ...at, id, size: 1 })
  await store.remove(at)
  const logged = vi.spyOn(console, 'log').mockReturnValue()
  try {
    for (let round = 0; round < 3; round++) await handleDueEvents()
    expect(logged.mock.calls).toEqual([
      ['activated', 'a.txt'],
      ['deleted', 'a.txt'],
    ])
  } finally {
    logged.mockRestore()
  }
}

export const conceptsChecks: SnippetChecks = {
  'docs/concepts.md#events.ts': handlesEventsOnce,
}
