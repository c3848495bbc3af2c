/**
 * What the unit tests have in place of `src/client/upload/sizes.ts` and `src/server/attempts/sizes.ts`, because most of what they
 * would cost is the copying of bytes. `test/integration/uploads` tests the real sizes.
 */
const MIB = 1024 ** 2

export const MULTIPART_MIN_SIZE = 2 * MIB
export const SLICE = MIB / 2
export const DEFAULT_PART_SIZE = MIB
