import { wireProxy, type WireProxy } from './wire-proxy.js'

/**
 * A server that answers every command of a transaction with yes, but carries out each statement by itself: what some
 * re-implementations of MongoDB do.
 */
export async function pretendingTransactions(target: string): Promise<WireProxy> {
  const proxy = await wireProxy(target)
  proxy.onCommand = (command) => {
    if (!('autocommit' in command)) return 'pass'
    const {
      autocommit: _1,
      startTransaction: _2,
      txnNumber: _3,
      lsid: _4,
      readConcern: _5,
      ...statement
    } = command
    const isEnd = 'commitTransaction' in command || 'abortTransaction' in command
    return { instead: isEnd ? { ping: 1, $db: 'admin' } : statement }
  }
  return proxy
}
