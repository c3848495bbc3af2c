import type { StorageObjectStore } from '@svc/db'
import { expect, vi } from 'vitest'
import { run, type SnippetCheck, type SnippetChecks } from '../programs.js'
import { uploadTo } from '../store-programs.js'

interface EventsProgram {
  readonly store: StorageObjectStore
  readonly handleDueEvents: () => Promise<void>
}

const handlesEventsOnce: SnippetCheck = async (program) => {
  const { store, handleDueEvents } = await run<EventsProgram>(program)
  await uploadTo(store, 'ann')
  await store.remove({ bucket: 'uploads', key: 'ann/a.txt' })
  const logged = vi.spyOn(console, 'log').mockReturnValue()
  for (let round = 0; round < 3; round++) await handleDueEvents()
  expect(logged.mock.calls).toEqual([
    ['activated', 'ann/a.txt'],
    ['deleted', 'ann/a.txt'],
  ])
}

export const conceptsChecks: SnippetChecks = {
  'docs/concepts.md#events.ts': handlesEventsOnce,
}
