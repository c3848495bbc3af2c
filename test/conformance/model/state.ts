import type { Leftover, ObjectReference, StorageObject } from '../../../src/core/store/records.js'
import type { RecordedChange } from '../../../src/core/store/events.js'
import { eventOf, type ModelEvent } from './event-log.js'
import { recordOf, type ModelRow } from './rows.js'

/** An attempt that was rejected. */
export interface ModelRejection extends ObjectReference {
  readonly id: string
  readonly scope: string
  readonly at: Date
  readonly reason: string | null
}

/** The rows and leftovers of the model, and the steps that several calls share. */
export class ModelState {
  rows: readonly ModelRow[] = []
  leftovers: readonly Leftover[] = []
  rejections: readonly ModelRejection[] = []
  /** In the order of recording. */
  events: readonly ModelEvent[] = []
  /** What the store returned to the current call. The model follows it where the contract leaves a choice. */
  chosen: unknown = undefined
  protected recorded = 0
  /** The id for the next reserve without one. Set it from the store's result, which the model can't predict. */
  madeId = ''

  constructor(
    readonly now: () => Date,
    readonly recordsEvents = false,
  ) {}

  drop(row: ModelRow): void {
    this.rows = this.rows.filter((other) => other !== row)
    if (row.status === 'pending') this.leaveBehind(row)
  }

  hasExpired(row: ModelRow): boolean {
    return row.status === 'pending' && row.arrivedAt === null && row.writableUntil <= this.now()
  }

  /** Returns whether the end of a row has come. */
  isGone({ temporaryUntil }: ModelRow): boolean {
    return temporaryUntil !== null && temporaryUntil <= this.now()
  }

  protected at({ bucket, key }: ObjectReference, status: StorageObject['status']): ModelRow[] {
    return this.rows.filter((row) => row.bucket === bucket && row.key === key && row.status === status)
  }

  protected active(reference: ObjectReference): ModelRow | undefined {
    return this.at(reference, 'active')[0]
  }

  protected pending(reference: ObjectReference): ModelRow | undefined {
    return this.at(reference, 'pending')[0]
  }

  /** Records the leftover of a row that ends or is replaced, unless it has neither a storage key nor an upload. */
  protected leaveBehind(row: ModelRow): void {
    const { bucket, key, attemptId, scope, storageKey, uploadId, writableUntil, temporaryUntil } = row
    if (storageKey === null && uploadId === null) return
    const reference = { attemptId, scope, bucket, key, storageKey, uploadId }
    const dates = { since: this.now(), writableUntil, dueAt: null, readableUntil: temporaryUntil }
    this.leftovers = [...this.leftovers, { ...reference, ...dates }]
  }

  /** Removes an active row, and returns what the call returns. */
  protected removeActive(active: ModelRow, mode: 'soft' | 'hard' | null | undefined): StorageObject {
    this.leaveBehind(active)
    const now = this.now()
    const history: ModelRow = {
      ...active,
      ...{ status: 'deleted', updatedAt: now, deletedAt: now, temporaryUntil: null },
    }
    const hard = mode === 'hard'
    this.rows = this.rows.flatMap((row) => (row !== active ? [row] : hard ? [] : [history]))
    const object = recordOf(hard ? active : history)
    this.record({ type: 'deleted', object, previous: null })
    return object
  }

  /** Records a change, if events are on. */
  protected record(change: RecordedChange): void {
    if (!this.recordsEvents) return
    this.events = [...this.events, eventOf(++this.recorded, change, this.now())]
  }
}
