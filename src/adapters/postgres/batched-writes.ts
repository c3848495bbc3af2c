import { keyId } from '../../core/names.js'
import type { ConfirmCommand, ReserveCommand } from '../../core/store/driver.js'
import { RecentEntries } from '../shared/recent-entries.js'
import { createWriteBatcher } from '../shared/write-batcher.js'
import type { TextRow } from './connection/database.js'
import { isDuplicateId, wasReported } from './connection/failures.js'
import type { Call } from './connection/retries.js'
import { CONFIRM_ARGUMENTS, batchedWrite, RESERVE_ARGUMENTS, valuesOf } from './sql/arguments.js'
import { readWriteResult, type WriteResult, type WriteStatements } from './sql/writes.js'

/** A confirm that names its scope and its attempt, which makes it safe to repeat. */
interface NamedConfirmCommand extends ConfirmCommand {
  readonly id: string
  readonly scope: string
}

type BatchedWrite =
  | { readonly kind: 'reserve'; readonly command: ReserveCommand }
  | { readonly kind: 'confirm'; readonly command: NamedConfirmCommand }

/** Attempts whose scope is remembered. A confirm without a scope runs alone once its attempt is forgotten. */
const REMEMBERED_ATTEMPTS = 10_000

export interface BatchedWrites {
  reserve(command: ReserveCommand): Promise<WriteResult>
  confirm(command: ConfirmCommand): Promise<WriteResult>
}

/**
 * Creates the writes that many callers make at once. Writes of one scope change the same usage row, so Postgres runs
 * them one after the other. Those that are in progress in this process share a round trip and a transaction. Every
 * write in a batch names its attempt, so a batch whose response was lost can be repeated. A confirm without an attempt, or
 * without the scope of an attempt that another process reserved, runs alone.
 */
export function createBatchedWrites(call: Call, statements: WriteStatements): BatchedWrites {
  const batcher = createWriteBatcher<BatchedWrite, WriteResult>({
    run: (writes) => (writes.length === 1 ? runAlone(writes[0]!) : runBatch(writes)),
    conflictKeyOf: ({ command }) => keyId(command),
    // Two callers would gain nothing by waiting for each other.
    batchThreshold: 2,
    // Postgres rolled the batch back if it reported an error. Run each write alone to find the one that failed.
    recoveryFrom: (error) => (wasReported(error) ? 'concurrent' : 'fail'),
  })

  /** The scope of each attempt that this process has reserved. An attempt never changes its scope, but its object can. */
  const reserved = new RecentEntries<string>(REMEMBERED_ATTEMPTS)

  async function runAlone(write: BatchedWrite): Promise<[PromiseSettledResult<WriteResult>]> {
    const value = write.kind === 'reserve' ? await reserve(write.command) : await confirm(write.command)
    return [{ status: 'fulfilled', value }]
  }

  async function runBatch(writes: readonly BatchedWrite[]): Promise<PromiseSettledResult<WriteResult>[]> {
    const { scope } = writes[0]!.command
    const values = [scope, JSON.stringify(writes.map(writeOf))]
    const results = new Map<number, WriteResult>()
    for (const [index, result] of await call(statements.batch, values, { repeatable: true })) {
      results.set(Number(index), readWriteResult(result))
    }
    return writes.map((_, index) => {
      const value = results.get(index)
      if (!value) throw new RangeError('write_batch_v1 returned no result for one of its writes.')
      return { status: 'fulfilled', value }
    })
  }

  async function reserve(command: ReserveCommand): Promise<WriteResult> {
    const values = valuesOf(RESERVE_ARGUMENTS, command)
    try {
      // Repeatable because the caller chooses the id: a repeat finds the row of the first try.
      return onlyResult(await call(statements.reserve, values, { repeatable: true }))
    } catch (error) {
      if (isDuplicateId(error)) return { outcome: 'reused-id' }
      throw error
    }
  }

  async function confirm(command: ConfirmCommand): Promise<WriteResult> {
    const values = valuesOf(CONFIRM_ARGUMENTS, command)
    // With an id, a repeat finds the object that the attempt became. Without one, it could confirm a newer attempt.
    return onlyResult(await call(statements.confirm, values, { repeatable: command.id !== null }))
  }

  /** Confirms in the scope that the attempt was reserved in, then in any, because the object may have another owner by now. */
  async function confirmWithoutScope(command: ConfirmCommand): Promise<WriteResult> {
    const { id } = command
    const scope = id === null ? null : reserved.get(id)
    if (id === null || scope === null) return confirm(command)
    const result = await batcher.run(scope, { kind: 'confirm', command: { ...command, id, scope } })
    if (result.outcome === 'not-found') return confirm(command)
    reserved.delete(id)
    return result
  }

  return {
    reserve(command) {
      reserved.set(command.id, command.scope)
      return batcher.run(command.scope, { kind: 'reserve', command })
    },
    confirm(command) {
      if (!isNamed(command)) return confirmWithoutScope(command)
      reserved.delete(command.id)
      return batcher.run(command.scope, { kind: 'confirm', command })
    },
  }
}

function isNamed(command: ConfirmCommand): command is NamedConfirmCommand {
  return command.id !== null && command.scope !== null
}

/** Returns a write in the columns of the type `scope_write_v1`. Dates become ISO 8601 strings. */
function writeOf(write: BatchedWrite, place: number): Readonly<Record<string, unknown>> {
  const { kind } = write
  const values =
    kind === 'reserve'
      ? batchedWrite(RESERVE_ARGUMENTS, write.command)
      : batchedWrite(CONFIRM_ARGUMENTS, write.command)
  return Object.assign(values, { place, kind })
}

function onlyResult([row]: readonly TextRow[]): WriteResult {
  return readWriteResult(row?.[0])
}
