import { StorageError } from '../../../core/errors.js'
import { isRouterHello, runCommand, type Namespace } from './namespace.js'
import { STANDALONE } from './failure-table.js'

/**
 * Returns why the one server that the client is connected to can't be used, in a sentence; `null` if it can. With
 * `directConnection`, the driver neither looks for the primary nor checks what it is connected to.
 */
export function flawOfMember(hello: Readonly<Record<string, unknown>>): string | null {
  if (hello['setName'] === undefined && !isRouterHello(hello)) {
    return `${STANDALONE.message} Start it with --replSet and run rs.initiate() once.`
  }
  const { primary, me } = hello
  // Without a primary, an election is in progress, which this member may win.
  if (hello['secondary'] !== true || typeof primary !== 'string' || primary === me) return null
  return (
    `The client is connected to a secondary (${String(me)}) by directConnection; the primary is ${primary}. ` +
    'Name the set by replicaSet in the URL instead.'
  )
}

/** @throws StorageError `DATABASE_UNAVAILABLE`, not retryable, if a direct connection leads to a server that can't be used. */
export async function refuseDirectConnection(namespace: Namespace): Promise<void> {
  if (!namespace.client.options.directConnection) return
  // If it doesn't respond, the call itself reports that.
  const hello = await runCommand(namespace, { hello: 1 }).catch(() => null)
  const message = hello && flawOfMember(hello)
  if (message !== null) throw new StorageError('DATABASE_UNAVAILABLE', { message, retryable: false })
}
