/**
 * The calls of a store, each as a list of its fields. The types of what callers pass and of what drivers receive follow
 * from the lists, and so does the validation, for all adapters. Callers without TypeScript get the same checks.
 */
export * from './events.js'
export * from './reads.js'
export * from './upkeep.js'
export * from './writes.js'
