import { StorageError } from '../../core/errors.js'
import { keyId } from '../../core/names.js'
import { RecentEntries } from '../../core/recent-entries.js'
import type { AdoptCommand, ConfirmCommand, ReserveCommand } from '../../core/store/driver.js'
import { HELD } from '../shared/lane/lane.js'
import { createScopeLanes } from '../shared/lane/scope-lanes.js'
import type { Job } from '../shared/lane/waiting-jobs.js'
import type { Statement } from './connection/database.js'
import { copyOf, isDuplicateId, wasReported } from './connection/failures.js'
import { type Calls, TIME_LIMIT } from './connection/retries.js'
import { ARGUMENTS, type Argument, batchedWrite, valuesOf } from './sql/arguments.js'
import type { Statements } from './sql/statement.js'
import { readWriteResult, type WriteResult } from './sql/writes.js'

/** Each names its scope and its attempt, so it is safe to repeat. */
interface Commands {
  readonly reserve: ReserveCommand
  readonly confirm: NamedConfirmCommand
  readonly adopt: AdoptCommand
}

interface NamedConfirmCommand extends ConfirmCommand {
  readonly id: string
  readonly scope: string
}

/** By kind, as the compiler follows it. */
const argumentsOf: { readonly [Kind in keyof Commands]: readonly Argument<Commands[Kind]>[] } = ARGUMENTS

interface Write<Kind extends keyof Commands = keyof Commands> extends Job {
  readonly kind: Kind
  readonly command: Commands[Kind]
  /** When the caller called, in milliseconds. */
  readonly since: number
}

/** Attempts whose scope is remembered. A confirm without a scope runs alone once its attempt is forgotten. */
const REMEMBERED_ATTEMPTS = 10_000

/** Maximum writes of all scopes that wait for held keys, because each may take a connection. */
const MAX_HELD = 4
/** A write waits for a held key only if a connection is left for its scope, and one for other calls. */
const SPARE_FOR_HELD = 3
/** A second write of a scope starts only if a connection is left for other calls. */
const SPARE_FOR_SECOND = 2
/** Milliseconds after which a further write whose key is held joins another batch. */
const HELD_PAUSE = 100

/** A caller takes this many microtasks from the result of a write to its next one. */
const MICROTASKS_TO_NEXT_CALL = 8

/**
 * Creates the writes that many callers make at once. Writes of one scope change the same usage row, so Postgres runs
 * them one after the other; those in progress in this process share a round trip and a transaction. A confirm without
 * an attempt, or of an attempt without a scope that another process reserved, runs alone.
 *
 * A batch only tries to lock its keys. A write whose key another transaction holds leaves it and waits on a connection
 * of its own.
 */
export function createBatchedWrites(
  { idempotent, once }: Calls,
  { writes, tries }: Statements,
  spareConnections: () => number = () => Infinity,
) {
  const uploads = createBatcher<'reserve' | 'confirm'>(writes.batch, ({ key }) => key)
  const adoptions = createBatcher<'adopt'>(writes.adoptBatch, ({ storageKey }) => storageKey)

  function createBatcher<Kind extends keyof Commands>(
    batch: Statement,
    nameOf: (command: Commands[Kind]) => string,
  ) {
    let held = 0
    const { laneOf } = createScopeLanes<Write<Kind>, WriteResult>({
      async run(jobs) {
        if (jobs.length === 1) return [(await runAlone(jobs[0]!, tries)) ?? HELD]
        const results = jobs.map((): WriteResult | typeof HELD => HELD)
        const values = [jobs[0]!.command.scope, JSON.stringify(jobs.map(placed))]
        for (const [place, text] of await idempotent(batch, values)) {
          results[Number(place)] = readWriteResult(text)
        }
        return results
      },
      async hold(write) {
        if (held === MAX_HELD || spareConnections() < SPARE_FOR_HELD) {
          await new Promise((resolve) => setTimeout(resolve, HELD_PAUSE))
          return { again: write }
        }
        held++
        const result = await runAlone(write, writes).finally(() => held--)
        return { result: result! }
      },
      tooLate: ({ since }) => (performance.now() - since < TIME_LIMIT ? null : waitedTooLong()),
      // Postgres rolled the batch back if it reported an error.
      wasUndone: wasReported,
      // Two callers would gain nothing by waiting for each other.
      counts: 'jobs',
      // Both may wait for a transaction that holds the scope.
      mayShare: () => spareConnections() >= SPARE_FOR_SECOND,
      async untilNextCalls() {
        for (let i = 0; i < MICROTASKS_TO_NEXT_CALL; i++) await Promise.resolve()
      },
    })
    return <K extends Kind>(kind: K, command: Commands[K]): Promise<WriteResult> => {
      const key = keyId({ bucket: command.bucket, key: nameOf(command) })
      return laneOf(command.scope).add({ key, scopes: [], kind, command, since: performance.now() })
    }
  }

  /** Runs one write. Returns `null` if it only tries, and another transaction holds its key. */
  async function runAlone<Kind extends keyof Commands>(
    { kind, command }: Write<Kind>,
    statements: typeof tries,
  ): Promise<WriteResult | null> {
    const values = valuesOf<Commands[Kind]>(argumentsOf[kind], command)
    try {
      const [row] = await idempotent(statements[kind], values)
      return statements === tries && row?.[0] === null ? null : readWriteResult(row?.[0])
    } catch (error) {
      if (kind === 'reserve' && isDuplicateId(error)) return { outcome: 'reused-id' }
      throw error
    }
  }

  /** The scope of each attempt that this process has reserved. Only that of its object can change. */
  const reserved = new RecentEntries<string>(REMEMBERED_ATTEMPTS)

  /** Confirms in the scope of the reservation, then in any, because the object may have another owner by now. */
  async function confirmWithoutScope(command: ConfirmCommand): Promise<WriteResult> {
    const { id } = command
    const scope = id === null ? null : reserved.get(id)
    if (id === null || scope === null) return confirmInAnyScope(command)
    const result = await uploads('confirm', { ...command, id, scope })
    if (result.outcome === 'not-found') return confirmInAnyScope(command)
    reserved.delete(id)
    return result
  }

  async function confirmInAnyScope(command: ConfirmCommand): Promise<WriteResult> {
    // With an id, a repeat finds the object that the attempt became. Without one, it could confirm a newer attempt.
    const call = command.id === null ? once : idempotent
    const [row] = await call(writes.confirm, valuesOf(ARGUMENTS.confirm, command))
    return readWriteResult(row?.[0])
  }

  return {
    reserve(command: ReserveCommand) {
      reserved.set(command.id, command.scope)
      return withOwnError(uploads('reserve', command))
    },
    confirm(command: ConfirmCommand) {
      if (!isNamed(command)) return withOwnError(confirmWithoutScope(command))
      reserved.delete(command.id)
      return withOwnError(uploads('confirm', command))
    },
    adopt: (command: AdoptCommand) => withOwnError(adoptions('adopt', command)),
  }
}

function waitedTooLong(): StorageError {
  const message = `Earlier writes of the scope took longer than ${TIME_LIMIT / 1000} s, so this one was not started.`
  return new StorageError('DATABASE_UNAVAILABLE', { message })
}

/** All callers of a batch get the error that ended it. Gives each an error with its own stack. */
async function withOwnError<T>(write: Promise<T>): Promise<T> {
  try {
    return await write
  } catch (error) {
    throw error instanceof StorageError ? copyOf(error) : error
  }
}

function isNamed(command: ConfirmCommand): command is NamedConfirmCommand {
  return command.id !== null && command.scope !== null
}

/** Returns a write as an element of its batch. Dates become ISO 8601 strings. */
function placed<Kind extends keyof Commands>({ kind, command }: Write<Kind>, place: number) {
  return Object.assign(batchedWrite<Commands[Kind]>(argumentsOf[kind], command), { place, kind })
}
