import { createS3Server, db, deliverEvents, memoryStorage, type StorageObjectStore } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { beforeEach, describe, expect, it } from 'vitest'
import { startService } from '../service.js'
import { activate, recordingStore, remaining } from './changed-objects.js'

const SECONDS = 'a number above 0 and at most 86400'

describe('deliverEvents refuses, before anything happens,', () => {
  let { store, clock } = recordingStore()
  beforeEach(async () => {
    ;({ store, clock } = recordingStore())
    await activate(store, 'a', clock)
  })

  async function refusal(source: object, options?: object): Promise<unknown> {
    const error: unknown = await deliverEvents(source as StorageObjectStore, options as never).then(
      () => null,
      (thrown: unknown) => thrown,
    )
    expect(error).toBeInstanceOf(TypeError)
    expect(await store.countEvents()).toEqual({ waiting: 1, claimed: 0, retrying: 0 })
    return (error as TypeError).message
  }

  it.each<[name: string, value: unknown, allowed: string, shown?: string]>([
    ['pollSeconds', 0, SECONDS],
    ['pollSeconds', NaN, SECONDS],
    ['pollSeconds', '5', SECONDS, '"5"'],
    ['pollSeconds', 86_401, SECONDS],
    ['handlerSeconds', 0, SECONDS],
    ['claimSeconds', 0, 'an integer from 1 to 3600'],
    ['claimSeconds', 3601, 'an integer from 1 to 3600'],
    ['concurrency', 1.5, 'an integer from 1 to 1000'],
    ['concurrency', 1001, 'an integer from 1 to 1000'],
    ['signal', {}, 'an AbortSignal', 'an object'],
    ['onProgress', 1, 'a function'],
    ['onEvent', 'x', 'a function', '"x"'],
    ['onEvent', null, 'a function'],
    ['onError', 1, 'a function'],
    ['now', 1, 'a function'],
  ])('the %s %j', async (name, value, allowed, shown = String(value)) => {
    const message = `deliverEvents: ${name} must be ${allowed} (got ${shown}).`
    expect(await refusal(store, { onEvent: () => {}, [name]: value })).toBe(message)
  })

  it('a server without onEvent', async () => {
    const { s3 } = startService({ objects: store, clock })
    expect(await refusal(s3)).toBe('deliverEvents: the server must have the option onEvent (got none).')
  })

  it.each(['onEvent', 'onError', 'now'])('%s beside a server', async (name) => {
    const { s3 } = startService({ objects: store, clock, onEvent: () => {} })
    expect(await refusal(s3, { [name]: () => {} })).toBe(
      `deliverEvents: ${name} must be an option of createS3Server() if the events of a server are delivered.`,
    )
  })

  it('what is neither a server nor a store', async () => {
    expect(await refusal({}, { onEvent: () => {} })).toBe(
      'deliverEvents: the first argument must be a server returned by createS3Server() or a store such as ' +
        'postgresAdapter(pool) (got an object).',
    )
  })

  it.each(['claimEvents', 'settleEvents', 'extendClaims'] as const)(
    'a store without %s, and names it',
    async (name) => {
      const { [name]: _, ...methods } = store
      expect(await refusal(methods, { onEvent: () => {} })).toBe(
        `deliverEvents: the store must have the method ${name}.`,
      )
    },
  )

  it('nothing if options are null', async () => {
    const nothing = {
      pollSeconds: null,
      claimSeconds: null,
      handlerSeconds: null,
      concurrency: null,
      signal: null,
      onProgress: null,
    }
    const given = { onEvent: () => {}, onError: null, now: null, ...nothing }
    expect((await deliverEvents(store, given)).delivered).toBe(1)
    expect(await remaining(store)).toBe(0)
  })
})

it.each([
  [{ onEvent: 'x' }, 'onEvent must be a function (got "x").'],
  [{ handlerSeconds: 86_401 }, 'handlerSeconds must be a number above 0 and at most 86400 (got 86401).'],
])('createS3Server refuses %j', (options, message) => {
  const plugins = [db({ client: memoryAdapter(), resolveScope: () => null })]
  const given = { storage: memoryStorage(), bucket: 'files', plugins, ...(options as object) }
  expect(() => createS3Server(given)).toThrow(new TypeError(`createS3Server: ${message}`))
})
