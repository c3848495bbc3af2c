/** The calls of a store, each as a list of its fields, from which types, validation, SQL arguments and OpenAPI follow. */
export * from './events.js'
export * from './reads.js'
export * from './temporary.js'
export * from './upkeep.js'
export * from './verdicts.js'
export * from './writes.js'
