import { createS3Server, db, deliverEvents, memoryStorage, type StorageObjectStore } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { beforeEach, describe, expect, it } from 'vitest'
import { startService } from '../service.js'
import { activate, recordingStore, remaining } from './changed-objects.js'

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

  it.each([
    [{ pollSeconds: 0 }, 'deliverEvents: pollSeconds must be a number above 0 and at most 86400 (got 0).'],
    [
      { pollSeconds: NaN },
      'deliverEvents: pollSeconds must be a number above 0 and at most 86400 (got NaN).',
    ],
    [
      { pollSeconds: '5' },
      'deliverEvents: pollSeconds must be a number above 0 and at most 86400 (got "5").',
    ],
    [
      { pollSeconds: 86_401 },
      'deliverEvents: pollSeconds must be a number above 0 and at most 86400 (got 86401).',
    ],
    [
      { handlerSeconds: 0 },
      'deliverEvents: handlerSeconds must be a number above 0 and at most 86400 (got 0).',
    ],
    [{ claimSeconds: 0 }, 'deliverEvents: claimSeconds must be an integer from 1 to 3600 (got 0).'],
    [{ claimSeconds: 3601 }, 'deliverEvents: claimSeconds must be an integer from 1 to 3600 (got 3601).'],
    [{ concurrency: 1.5 }, 'deliverEvents: concurrency must be an integer from 1 to 1000 (got 1.5).'],
    [{ concurrency: 1001 }, 'deliverEvents: concurrency must be an integer from 1 to 1000 (got 1001).'],
    [{ signal: {} }, 'deliverEvents: signal must be an AbortSignal (got an object).'],
    [{ onProgress: 1 }, 'deliverEvents: onProgress must be a function (got 1).'],
    [{ onEvent: 'x' }, 'deliverEvents: onEvent must be a function (got "x").'],
    [{ onEvent: null }, 'deliverEvents: onEvent must be a function (got null).'],
    [{ onError: 1 }, 'deliverEvents: onError must be a function (got 1).'],
    [{ now: 1 }, 'deliverEvents: now must be a function (got 1).'],
  ])('%j', async (options, message) => {
    expect(await refusal(store, { onEvent: () => {}, ...options })).toBe(message)
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
