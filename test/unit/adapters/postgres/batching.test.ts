import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createBatchedWrites } from '../../../../src/adapters/postgres/batching.js'
import type { Call } from '../../../../src/adapters/postgres/connection/retries.js'
import type { Statements } from '../../../../src/adapters/postgres/sql/statement.js'
import { reserveCommand } from '../../core/store/lifecycle/commands.js'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** Creates the writes of a database without responses, except that another transaction holds each key named "held". */
function createWrites() {
  const started: string[] = []
  const call: Call = ({ name }, values) => {
    started.push(name)
    if (name === 'try' && values.includes('held')) return Promise.resolve([[null]])
    return new Promise((_, reject) => {
      setTimeout(() => reject(new Error('no response')), 60_000)
    })
  }
  const reserveBy = (name: string) => ({ reserve: { name, text: '' } })
  const statements = { tries: reserveBy('try'), writes: reserveBy('wait') } as unknown as Statements
  const writes = createBatchedWrites({ idempotent: call, once: call }, statements)
  const reserve = (scope: string, key: string) => writes.reserve(reserveCommand({ scope, key })).catch(String)
  return { started, reserve }
}

it('lets four writes of all scopes wait for held keys, and tries further ones again', async () => {
  const { started, reserve } = createWrites()
  for (let i = 0; i < 5; i++) void reserve(`scope ${i}`, 'held')
  await vi.advanceTimersByTimeAsync(0)
  const first = ['try', 'try', 'try', 'try', 'try', 'wait', 'wait', 'wait', 'wait']
  expect(started).toEqual(first)
  await vi.advanceTimersByTimeAsync(99)
  expect(started).toEqual(first)
  await vi.advanceTimersByTimeAsync(1)
  expect(started).toEqual([...first, 'try'])
})

it('rejects writes that have waited for as long as one without a response', async () => {
  const { started, reserve } = createWrites()
  const writes = ['a', 'b', 'c'].map((key) => reserve('scope', key))
  await vi.advanceTimersByTimeAsync(60_000)
  expect(await Promise.all(writes)).toEqual([
    'Error: no response',
    'Error: no response',
    'StorageError: Earlier writes of the scope took longer than 60 s, so this one was not started.',
  ])
  expect(started).toEqual(['try', 'try'])
})
