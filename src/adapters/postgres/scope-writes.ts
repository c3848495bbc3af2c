import type { ConfirmCommand, ReserveCommand } from '../../core/store/driver.js'
import { createWriteBatcher } from '../../core/store/write-batcher.js'
import type { TextRow } from './connection/database.js'
import { isTakenId, wasAnswered } from './connection/failures.js'
import type { Call } from './connection/retries.js'
import { readAnswer, type WriteAnswer } from './statements/write-answer.js'
import type { WriteStatements } from './statements/writes.js'

/** A confirm that says which scope it concerns, and which attempt, so that it may be repeated. */
interface NamedConfirmCommand extends ConfirmCommand {
  readonly id: string
  readonly scope: string
}

type ScopeWrite =
  | { readonly kind: 'reserve'; readonly command: ReserveCommand }
  | { readonly kind: 'confirm'; readonly command: NamedConfirmCommand }

/** The writes that many callers make at once. */
export interface ScopeWrites {
  reserve(command: ReserveCommand): Promise<WriteAnswer>
  confirm(command: ConfirmCommand): Promise<WriteAnswer>
}

/**
 * Writes of one scope change one usage row, so in the database only one of them goes on at a time. Those that are made
 * in this process at the same time share a round trip and a transaction. All of them name their attempt, so a batch
 * whose answer was lost can be repeated as one write can; those that don't go alone.
 */
export function createScopeWrites(call: Call, statements: WriteStatements): ScopeWrites {
  const batcher = createWriteBatcher<ScopeWrite, WriteAnswer>({
    run: (writes) => (writes.length === 1 ? alone(writes[0]!) : together(writes)),
    conflictKeyOf: ({ command: { bucket, key } }) => `${bucket}\0${key}`,
    // Two callers gain nothing by waiting for each other.
    batchThreshold: 2,
    // What the database answered with an error it has undone. Whom it concerns each finds out by itself.
    recoveryFrom: (error) => (wasAnswered(error) ? 'concurrent' : 'fail'),
  })

  async function alone(write: ScopeWrite): Promise<[PromiseSettledResult<WriteAnswer>]> {
    const value = write.kind === 'reserve' ? await reserve(write.command) : await confirm(write.command)
    return [{ status: 'fulfilled', value }]
  }

  async function together(writes: readonly ScopeWrite[]): Promise<PromiseSettledResult<WriteAnswer>[]> {
    const { scope } = writes[0]!.command
    const values = [scope, JSON.stringify(writes.map(argumentsOf))]
    const answers = new Map<number, WriteAnswer>()
    for (const [place, answer] of await call(statements.batch, values, { repeatable: true })) {
      answers.set(Number(place), readAnswer(answer))
    }
    return writes.map((_, place) => {
      const value = answers.get(place)
      if (!value) throw new RangeError('A batch answers each of its writes.')
      return { status: 'fulfilled', value }
    })
  }

  async function reserve(command: ReserveCommand): Promise<WriteAnswer> {
    const values = [
      command.id,
      command.scope,
      command.bucket,
      command.key,
      command.declaredSize,
      command.expiresAt.toISOString(),
      command.route,
      command.filename,
      command.contentType,
      command.metadata && JSON.stringify(command.metadata),
      command.storageKey,
      command.uploadId,
      command.overwrite,
      command.quota.maxBytes,
      command.quota.maxFiles,
      command.now.toISOString(),
    ]
    try {
      // Its id is known before: a repeat of a reserve whose answer was lost finds the row that it made.
      return only(await call(statements.reserve, values, { repeatable: true }))
    } catch (error) {
      if (isTakenId(error)) return { outcome: 'reused-id' }
      throw error
    }
  }

  async function confirm(command: ConfirmCommand): Promise<WriteAnswer> {
    const { bucket, key, id, scope, size, eTag, contentType, quota, now } = command
    const values = [bucket, key, id, scope, size, eTag, contentType, quota.maxBytes, now.toISOString()]
    // With an id, a repeat finds the object that this attempt became; without, it could confirm a newer attempt.
    return only(await call(statements.confirm, values, { repeatable: id !== null }))
  }

  return {
    reserve(command) {
      return batcher.run(command.scope, { kind: 'reserve', command })
    },
    confirm(command) {
      return isNamed(command) ? batcher.run(command.scope, { kind: 'confirm', command }) : confirm(command)
    },
  }
}

function isNamed(command: ConfirmCommand): command is NamedConfirmCommand {
  return command.id !== null && command.scope !== null
}

/** As the function for batches takes a command: names of its columns, dates as ISO 8601. */
function argumentsOf(write: ScopeWrite, place: number): Readonly<Record<string, unknown>> {
  const { kind, command } = write
  const { id, bucket, key, contentType, quota, now } = command
  const common = { place, kind, id, bucket, key, content_type: contentType, max_bytes: quota.maxBytes, now }
  if (kind === 'confirm') return { ...common, size: command.size, e_tag: command.eTag }
  return {
    ...common,
    declared_size: command.declaredSize,
    expires_at: command.expiresAt,
    route: command.route,
    filename: command.filename,
    metadata: command.metadata,
    storage_key: command.storageKey,
    upload_id: command.uploadId,
    overwrite: command.overwrite,
    max_files: quota.maxFiles,
  }
}

function only([row]: readonly TextRow[]): WriteAnswer {
  return readAnswer(row?.[0])
}
