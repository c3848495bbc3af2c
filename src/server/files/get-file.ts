import { StorageError } from '../../core/errors.js'
import type { ByteRange } from '../../core/object-storage.js'
import type { StorageObject } from '../../core/store/records.js'
import { checkObject, checkSize, invalid, optional } from '../../core/store/validation/checks.js'
import { bytesOf } from '../record-bytes.js'
import type { ServerDependencies } from '../server-dependencies.js'
import { CallerError } from './caller-error.js'
import { findFile } from './find-file.js'
import type { GetFileInput, OpenFile } from './inputs.js'
import { checkSignal, linkedAbort } from './linked-abort.js'
import { openBody } from './open-body.js'
import { lacks } from './send-bytes.js'

/** A range whose `end` may be left out. */
interface GivenRange {
  readonly start: number
  readonly end: number
}

/** Finds an active object and opens its bytes. */
export async function getFile(dependencies: ServerDependencies, input: GetFileInput): Promise<OpenFile> {
  const { storage } = dependencies
  const read = storage.read?.bind(storage)
  if (!read) throw lacks('read()', 'get')
  checkObject('input', input)
  const signal = checkSignal(input.signal)
  const given = optional(input.range, checkRange)
  if (signal?.aborted) throw new CallerError(signal.reason)
  const stop = linkedAbort(signal)
  try {
    for (let before: StorageObject | null = null; ;) {
      const object = await findFile(dependencies, input)
      const range = given && rangeWithin(given, object.size ?? 0)
      const stream = await read({ ...bytesOf(object, stop), range })
      if (stop.signal.aborted) await stream?.cancel()
      stop.signal.throwIfAborted()
      if (stream) return { object, body: openBody(stream, stop, dependencies.report) }
      // Another version may have replaced the object in the meantime.
      if (before?.attemptId === object.attemptId) throw bytesMissing()
      before = object
    }
  } catch (error) {
    stop.unlink()
    throw signal?.aborted ? new CallerError(signal.reason) : error
  }
}

function bytesMissing(): StorageError {
  return new StorageError('OBJECT_NOT_FOUND', { message: 'The bytes of the object are missing.' })
}

function checkRange(value: unknown): GivenRange {
  const range = checkObject('range', value)
  const start = checkSize('range.start', range['start'])
  const end = optional(range['end'], (given) => checkSize('range.end', given)) ?? Number.MAX_SAFE_INTEGER
  if (end < start) throw invalid('range', `must end at or after its start (got ${start} to ${end}).`)
  return { start, end }
}

/** Cuts off what is beyond the end of the object. @throws StorageError `VALIDATION_ERROR` (`range`) if nothing remains. */
function rangeWithin({ start, end }: GivenRange, size: number): ByteRange {
  if (start >= size) throw invalid('range', `must start within the object of ${size} bytes (got ${start}).`)
  return { start, end: Math.min(end, size - 1) }
}
