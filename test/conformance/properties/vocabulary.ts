import fc from 'fast-check'
import type { ObjectReference } from '../../../src/core/store/records.js'
import { longest, texts } from './texts.js'

/** The names of a script. There are few of each kind, so calls meet each other. */
export interface Vocabulary {
  readonly scopes: readonly string[]
  readonly buckets: readonly string[]
  readonly keys: readonly string[]
  readonly routes: readonly string[]
  readonly uploadIds: readonly string[]
  readonly eTags: readonly string[]
}

const words = fc.record({
  scopes: texts(3),
  buckets: texts(2),
  keys: texts(3),
  routes: texts(2),
  uploadIds: texts(2),
  eTags: texts(2),
})

/** Makes the first word of each kind as long as allowed. */
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

/** Few names, for scripts in which calls must meet often. */
export const narrowVocabulary: Vocabulary = {
  scopes: ['alice', 'bob'],
  buckets: ['bucket'],
  keys: ['k1', 'k2', 'k3'],
  routes: ['route'],
  uploadIds: ['upload 1', 'upload 2'],
  eTags: ['etag 1', 'etag 2'],
}

/** Returns a word by its number, modulo their count. */
export function word(words: readonly string[], number: number): string {
  return words[number % words.length]!
}

export function allReferences({ buckets, keys }: Vocabulary): ObjectReference[] {
  return buckets.flatMap((bucket) => keys.map((key) => ({ bucket, key })))
}
