import type { Given } from './given.js'

/** Cases by the sentence that each of them holds the store to. */
export interface CaseGroup {
  readonly title: string
  readonly cases: Readonly<Record<string, (given: Given) => Promise<void>>>
}
