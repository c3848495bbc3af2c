// Filled in by the build.
declare const SVC_DB_VERSION: string

/** Of the package that this command came with. */
export const VERSION = SVC_DB_VERSION
