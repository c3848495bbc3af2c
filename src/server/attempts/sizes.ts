/** In bytes. Small enough that resending a part is cheap, and large enough that the overhead of a request is negligible. */
export const DEFAULT_PART_SIZE = 8 * 1024 ** 2
