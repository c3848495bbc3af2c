import { runInNewContext } from 'node:vm'
import { StorageError } from '@svc/db'
import { postgresAdapter } from '@svc/db/postgres'
import { expect, it } from 'vitest'

it.each([
  ['an event, as drivers over WebSockets do', new Event('error')],
  ['an error of another realm', runInNewContext('new Error("socket hang up")') as unknown],
  ['an object', { message: 'socket hang up' }],
  ['nothing', undefined],
])('a driver that rejects with %s is an unavailable database', async (_, thrown) => {
  const connect = () => Promise.reject(new Error('not used'))
  // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- drivers reject with anything
  const query = () => new Promise<never>((_resolve, reject: (reason: unknown) => void) => reject(thrown))
  const error: unknown = await postgresAdapter({ connect, query })
    .getScopeUsage('ann')
    .catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(StorageError)
  expect(error).toMatchObject({ code: 'DATABASE_UNAVAILABLE', retryable: true })
})
