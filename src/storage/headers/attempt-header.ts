/** The metadata of an object that says which attempt wrote it. */
export const ATTEMPT_METADATA = 'attempt-id'

/** The header by which an upload says so, as S3 has it. */
export const ATTEMPT_HEADER = `x-amz-meta-${ATTEMPT_METADATA}`
