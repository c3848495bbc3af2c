import fc from 'fast-check'
import type { ObjectReference } from '../../../src/core/store/records.js'
import { longest, texts } from './texts.js'

/** The few names that a script uses again and again, so that its calls meet each other. */
export interface Vocabulary {
  readonly scopes: readonly string[]
  readonly buckets: readonly string[]
  readonly keys: readonly string[]
  readonly routes: readonly string[]
  readonly uploadIds: readonly string[]
  readonly eTags: readonly string[]
}

/** Which bucket and which key of the vocabulary, */
export interface Place {
  readonly bucket: number
  readonly key: number
  /** unless there is a row of this status somewhere: then where that is. */
  readonly having: 'pending' | 'active' | null
}

const words = fc.record({
  scopes: texts(3),
  buckets: texts(2),
  keys: texts(3),
  routes: texts(2),
  uploadIds: texts(2),
  eTags: texts(2),
})

/** Of each kind one word that is as long as it may be. */
function withLongest({ scopes, buckets, keys, routes, uploadIds, eTags }: Vocabulary): Vocabulary {
  return {
    scopes: [longest(255), ...scopes.slice(1)],
    buckets: [longest(255), ...buckets.slice(1)],
    keys: [longest(256), ...keys.slice(1)],
    routes: [longest(255), ...routes.slice(1)],
    uploadIds: [longest(1024), ...uploadIds.slice(1)],
    eTags: [longest(255), ...eTags.slice(1)],
  }
}

/** Names of all kinds. */
export const vocabulary: fc.Arbitrary<Vocabulary> = fc.oneof(
  { withCrossShrink: true },
  { weight: 7, arbitrary: words },
  { weight: 1, arbitrary: words.map(withLongest) },
)

/** For scripts whose calls run at once: everything happens at three keys. */
export const narrowVocabulary: Vocabulary = {
  scopes: ['alice', 'bob'],
  buckets: ['bucket'],
  keys: ['k1', 'k2', 'k3'],
  routes: ['route'],
  uploadIds: ['upload 1', 'upload 2'],
  eTags: ['etag 1', 'etag 2'],
}

/** A word by its number; numbers beyond the list begin again. */
export function word(words: readonly string[], number: number): string {
  return words[number % words.length]!
}

export function allReferences({ buckets, keys }: Vocabulary): ObjectReference[] {
  return buckets.flatMap((bucket) => keys.map((key) => ({ bucket, key })))
}
