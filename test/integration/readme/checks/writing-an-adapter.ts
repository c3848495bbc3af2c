import type { StorageObjectStore, StoreDriver } from '@svc/db/adapter'
import { expect, vi } from 'vitest'
import { passingTests, run, type SnippetCheck, type SnippetChecks } from '../programs.js'

/** `my-adapter.test.ts` imports this driver and runs the suite on it. */
const isDriver: SnippetCheck = async (program) => {
  const { createToyDriver } = await run<{ createToyDriver: (isRecording: boolean) => StoreDriver }>(program)
  expect(await createToyDriver(true).count({ scope: 'ann', statuses: ['active'] })).toBe(0)
}

/** `toy-driver.ts` imports these events. */
const isEvents: SnippetCheck = async (program) => {
  const { createToyEvents } = await run<EventsProgram>(program)
  const { methods } = createToyEvents(true)
  const nothing = { waiting: 0, claimed: 0, retrying: 0 }
  expect(await methods.countEvents({ now: new Date() })).toEqual(nothing)
}

interface EventsProgram {
  readonly createToyEvents: (isRecording: boolean) => { readonly methods: Pick<StoreDriver, 'countEvents'> }
}

interface DatabaseProgram {
  readonly createPlace: () => Promise<StorageObjectStore>
  readonly openPlace: (place: string) => StorageObjectStore
  readonly placeOf: (store: StorageObjectStore) => string
  readonly dropPlace: (place: string) => Promise<void>
}

const opensPlaces: SnippetCheck = async (program) => {
  const { createPlace, openPlace, placeOf, dropPlace } = await run<DatabaseProgram>(program)
  const place = placeOf(await createPlace())
  expect(await openPlace(place).verify()).toEqual([])
  await dropPlace(place)
  expect(await openPlace(place).verify()).not.toEqual([])
}

/** It waits for a message of the test that starts it, and `my-races.test.ts` does that. */
const isWorker: SnippetCheck = async (program) => {
  await run(program)
}

const printsDefects: SnippetCheck = async (program) => {
  const logged = vi.spyOn(console, 'log').mockReturnValue()
  await run(program)
  expect(logged.mock.calls.length).toBeGreaterThan(500)
}

export const writingAnAdapterChecks: SnippetChecks = {
  'docs/writing-an-adapter.md#toy-driver.ts': isDriver,
  'docs/writing-an-adapter.md#toy-events.ts': isEvents,
  // All cases, and one of the random scripts. Its long run has all of them.
  'docs/writing-an-adapter.md#my-adapter.test.ts': passingTests(300, '.', { CONFORMANCE_PATH: '0/0' }),
  'docs/writing-an-adapter.md#my-database.ts': { onPostgres: opensPlaces },
  // The cases that need the options that it shows. Tests of the Postgres adapter run all.
  'docs/writing-an-adapter.md#my-suite.test.ts': {
    onPostgres: passingTests(8, 'a place without a schema|checkUsage'),
  },
  'docs/writing-an-adapter.md#my-worker.mjs': { onPostgres: isWorker },
  'docs/writing-an-adapter.md#broken-stores.ts': printsDefects,
}
