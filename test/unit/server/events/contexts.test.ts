import { deliverEvents } from '@svc/db'
import { expect, it } from 'vitest'
import { contextsOfTest } from '../../contexts-of-test.js'
import { startService, type ServiceOptions } from '../service.js'
import { activate, recordingStore, remaining, until } from './changed-objects.js'

const REQUESTS = 20

/** A service whose application has a context for each request, and what its handler saw of them. */
function startInContexts(options: ServiceOptions = {}) {
  const requests = contextsOfTest()
  const { store, clock } = recordingStore()
  const seen: unknown[] = []
  async function onEvent() {
    seen.push(requests.getStore())
    await new Promise((resolve) => setImmediate(resolve))
    seen.push(requests.getStore())
  }
  const service = startService({ objects: store, clock, onEvent, ...options })
  const uploadAll = () =>
    Promise.all(
      Array.from({ length: REQUESTS }, (_, user) =>
        requests.run(`user:${user}`, () => service.as(`user:${user}`).upload()),
      ),
    )
  const delivered = () => until(async () => (await remaining(store)) === 0)
  return { requests, store, clock, seen, uploadAll, delivered, s3: service.s3, service }
}

const NOTHING = Array.from({ length: 2 * REQUESTS }, () => undefined)

it('a handler runs in the async context of no request', async () => {
  const { uploadAll, delivered, seen } = startInContexts()
  await uploadAll()
  await delivered()
  expect(seen).toEqual(NOTHING)
})

it('a handler runs in no context if a request runs the job', async () => {
  const { requests, store, clock, seen, s3 } = startInContexts()
  for (let i = 0; i < REQUESTS; i++) await activate(store, `${i}`, clock)
  await requests.run('cron', () => deliverEvents(s3))
  expect(seen).toEqual(NOTHING)
})

it('waitUntil is called in the context of the request, with a promise of its delivery alone', async () => {
  const calls: { readonly user: string | undefined; readonly promise: Promise<void> }[] = []
  const started = startInContexts({
    waitUntil: (promise) => void calls.push({ user: started.requests.getStore(), promise }),
  })
  await started.uploadAll()
  expect(calls.map(({ user }) => user).sort()).toEqual(
    Array.from({ length: REQUESTS }, (_, user) => `user:${user}`).sort(),
  )
  expect(await Promise.all(calls.map(({ promise }) => promise))).toEqual(calls.map(() => undefined))
  expect(started.seen).toEqual(NOTHING)
  expect(await remaining(started.store)).toBe(0)
})

it('a delivery that fails does not reject for waitUntil, and an error of waitUntil is reported', async () => {
  const failure = new Error('The handler failed.')
  const outside = new Error('waitUntil was called outside of a request')
  const promises: Promise<void>[] = []
  for (const [operation, error] of [
    ['deliverEvents', failure],
    ['waitUntil', outside],
  ] as const) {
    const { service } = startInContexts({
      onEvent: () => Promise.reject(failure),
      waitUntil(promise) {
        promises.push(promise)
        throw outside
      },
    })
    await service.as('user:1').upload()
    await Promise.all(promises)
    expect(await service.reportedBy(operation)).toEqual([error])
  }
})
