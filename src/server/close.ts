import { namesOf } from '../core/known-names.js'
import { OptionChecks } from '../core/option-checks.js'
import type { EventRunner } from './events/runner.js'

export interface CloseOptions {
  /** How long to wait for handlers, in seconds, above 0 and at most 86400. Default: 30. */
  readonly timeoutSeconds?: number | null | undefined
}

export type Close = (options?: CloseOptions | null) => Promise<void>

const OPTIONS = namesOf<CloseOptions>({ timeoutSeconds: true })
const checks = new OptionChecks('s3.close')
const DEFAULT_SECONDS = 30

/** Returns the `close` of a server. `events`: `null` without `onEvent`, so that nothing has to end. */
export function createClose(events: EventRunner | null): Close {
  return async (options) => {
    const { timeoutSeconds } = checks.optionalOptions(options, OPTIONS)
    const seconds = checks.seconds('timeoutSeconds', timeoutSeconds) ?? DEFAULT_SECONDS
    await events?.close(seconds)
  }
}
