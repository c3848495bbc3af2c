import { expect, it } from 'vitest'
import { EventRunner } from '../../../../src/server/events/runner.js'
import { activate, at, deferred, recordingStore, remaining, until } from './changed-objects.js'

it('is idle once what changes and jobs have started is done', async () => {
  const { store, clock } = recordingStore()
  const handlers = { a: deferred(), b: deferred() }
  const runner = new EventRunner({
    store,
    onEvent: ({ object }) => handlers[object.key as 'a' | 'b'].promise,
    report: () => undefined,
    now: clock.now,
    handlerSeconds: 3600,
  })
  await runner.idle()
  for (const key of ['a', 'b']) await activate(store, key, clock)
  const isClaimed = (count: number) => async () => (await store.countEvents()).claimed === count
  runner.changed({ scope: 'user:1', ...at('a') })
  await until(isClaimed(1))
  const options = { handlerSeconds: null, claimSeconds: 60, concurrency: 1, pollSeconds: null, signal: null }
  void runner.deliver({ ...options, onResult: () => undefined })
  await until(isClaimed(2))

  let isIdle = false
  const idle = runner.idle().then(() => void (isIdle = true))
  handlers.b.resolve()
  await until(isClaimed(1))
  expect(isIdle).toBe(false)
  handlers.a.resolve()
  await idle
  expect(await remaining(store)).toBe(0)
})
