import type { MigrationStep } from './migration-step.js'
import { STEP_1 } from './step-1/index.js'
import { STEP_2 } from './step-2/index.js'

export const STEPS: readonly MigrationStep[] = [
  { version: 1, minCompatible: 1, additions: [], sql: STEP_1 },
  STEP_2,
]

/** The schema version that this code needs. */
export const SCHEMA_VERSION = STEPS.at(-1)!.version
