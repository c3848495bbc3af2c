/**
 * Turns each public input into the exact input of a driver: checked, with defaults filled in. This is the only place that
 * validates store input, for all adapters. Callers without TypeScript get the same checks.
 */
export * from './events.js'
export * from './object-changes.js'
export * from './reads.js'
export * from './upkeep.js'
export * from './writes.js'
