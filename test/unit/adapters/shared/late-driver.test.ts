import { createStore, type StoreDriver } from '@svc/db/adapter'
import { expect, it } from 'vitest'
import { lateDriver } from '../../../../src/adapters/shared/late-driver.js'

interface Connection {
  readonly name: string
}

/** A store over connections that the test opens, and the calls of their drivers. */
function lateStore() {
  const calls: string[] = []
  const opened: string[] = []
  let connection: Connection | null | undefined
  const driver = lateDriver<Connection>({
    find: () => connection,
    notOpen: 'not open',
    open({ name }) {
      opened.push(name)
      const countsCalls = { ping: () => void calls.push(name), usage: (scope: string) => ({ scope, name }) }
      return countsCalls as unknown as StoreDriver
    },
  })
  const connect = (next: Connection | null | undefined) => void (connection = next)
  return { store: createStore(driver), calls, opened, connect }
}

it('each call uses the connection of its time, and each connection has one driver', async () => {
  const { store, calls, opened, connect } = lateStore()
  const [first, second] = [{ name: 'first' }, { name: 'second' }]
  for (const connection of [first, second, first, second]) {
    connect(connection)
    await store.ping()
  }
  expect(calls).toEqual(['first', 'second', 'first', 'second'])
  expect(opened).toEqual(['first', 'second'])
  expect(await store.getScopeUsage('user:1')).toEqual({ scope: 'user:1', name: 'second' })
})

it('rejects calls without a connection, except close', async () => {
  const { store, connect } = lateStore()
  for (const none of [undefined, null]) {
    connect(none)
    await expect(store.ping()).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE', message: 'not open' })
    await expect(store.migrate()).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
    await store.close()
  }
})
