import type { ReportSent } from './progress.js'

/** A signed URL, to be used with exactly these headers. */
export interface SignedPut {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

export interface BytesToPut {
  readonly file: Blob
  readonly progress: ReportSent
  readonly signal?: AbortSignal | null | undefined
}

/** Sends bytes to a signed URL and resolves to the status of the answer; rejects where none came. */
export type PutBytes = (put: SignedPut, bytes: BytesToPut) => Promise<number>
