/** Files of this size in bytes or more are uploaded in parts. */
export const MULTIPART_MIN_SIZE = 16 * 1024 ** 2

/** Bytes that are read at once. Few, so that the page stays responsive in between, also on a slow processor. */
export const SLICE = 4 * 1024 ** 2
