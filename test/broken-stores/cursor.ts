import { StorageError, type StorageObject } from '../../src/adapter.js'
import { decodeCursor, encodeCursor } from '../../src/core/store/cursor.js'
import { overStore, storeCall, storeInput, type Mutants, type Mutant } from './mutant.js'

/** Makes its own cursors for positions in the list of the scope. */
function withOwnCursors(
  from: (cursor: string | null, rows: readonly StorageObject[]) => number,
  cursorAt: (index: number, rows: readonly StorageObject[]) => string,
) {
  return overStore((store) => ({
    async listByScope({ cursor, limit, ...input }) {
      const { objects } = await store.listByScope({ ...input, limit: 1000 })
      const start = from(cursor ?? null, objects)
      const end = start + (limit ?? 100)
      const page = objects.slice(start, end)
      return end < objects.length ? { objects: page, nextCursor: cursorAt(end, objects) } : { objects: page }
    },
  }))
}

export const cursorMutants: Mutants = {
  'makes cursors without a checksum': [
    storeCall('listByScope', async (input, store) => {
      let cursor = input.cursor
      if (cursor != null) {
        const id = atob(cursor.replaceAll('-', '+').replaceAll('_', '/'))
        if (id.length !== 36) throw new StorageError('INVALID_CURSOR')
        cursor = encodeCursor(id)
      }
      const { objects, nextCursor } = await store.listByScope({ ...input, cursor })
      return nextCursor === undefined ? { objects } : { objects, nextCursor: btoa(decodeCursor(nextCursor)) }
    }),
    'cursor: is invalid if any character is changed',
    'cursor: is invalid if made up',
  ],
  'ignores the end of a cursor': [
    storeInput('listByScope', (input) => ({ ...input, cursor: input.cursor?.slice(0, 28) })),
    'cursor: is invalid if extended',
  ],
  'treats an empty cursor as absent': [
    storeInput('listByScope', (input) => ({ ...input, cursor: input.cursor || null })),
    'cursor: is invalid if made up',
  ],
  'makes cursors that count rows': [
    withOwnCursors(
      (cursor) => (cursor === null ? 0 : Number(cursor.slice(1))),
      (index) => `c${index}`,
    ),
    'listByScope: returns rows that exist throughout exactly once, even if others change between pages',
    'cursor: is invalid if made up',
  ],
  'makes cursors that contain the whole position, of any length': [
    withOwnCursors(
      (cursor, rows) => rows.findIndex(({ id }) => id === cursor?.slice(0, 36)) + 1,
      (index, rows) => {
        const { id, scope, bucket, key } = rows[index - 1]!
        return `${id}${[scope, bucket, key].join('.').replaceAll(' ', '_')}`
      },
    ),
    'cursor: is URL-safe and at most 200 characters long even if all names have their maximum length',
    'cursor: keeps its position after its row is gone',
  ],
  'refuses cursors made for another scope': [
    overStore((store) => {
      const scopes = new Map<string, string>()
      return {
        async listByScope(input) {
          if (input.cursor != null && (scopes.get(input.cursor) ?? input.scope) !== input.scope) {
            throw new StorageError('INVALID_CURSOR')
          }
          const page = await store.listByScope(input)
          if (page.nextCursor !== undefined) scopes.set(page.nextCursor, input.scope)
          return page
        },
      }
    }),
    'cursor: returns only rows of the scope it is used with',
  ],
  'makes cursors with a character that URLs escape': [
    overCursors(
      (cursor) => cursor.replace(/=$/, ''),
      (cursor) => `${cursor}=`,
    ),
    'cursor: is URL-safe and at most 200 characters long',
  ],
  'accepts a cursor only once with the same filter': [
    overStore((store) => {
      const used = new Set<string>()
      return {
        async listByScope(input) {
          if (input?.cursor == null) return store.listByScope(input)
          const call = JSON.stringify(input)
          if (used.has(call)) throw new StorageError('INVALID_CURSOR')
          used.add(call)
          return store.listByScope(input)
        },
      }
    }),
    'cursor: can be reused',
  ],
  'accepts a cursor with one changed character': [
    overKnownCursors((cursor, known) => {
      const changed = [...known].filter((character, index) => character !== cursor[index])
      return cursor.length === known.length && changed.length === 1
    }),
    'cursor: is invalid if any character is changed',
  ],
  'accepts a cursor with two swapped characters': [
    overKnownCursors(
      (cursor, known) => cursor !== known && [...cursor].sort().join() === [...known].sort().join(),
    ),
    'cursor: is invalid if characters are swapped or reversed',
  ],
  'accepts a cursor that is spliced from two cursors': [
    overKnownCursors(
      (cursor, known, other) =>
        cursor !== known &&
        cursor !== other &&
        [...cursor].some((_, index) => cursor === known.slice(0, index) + other.slice(index)),
    ),
    'cursor: is invalid if spliced from two cursors',
  ],
  'refuses a null cursor': [
    storeInput('listByScope', (input) => {
      if (input.cursor === null) throw new StorageError('INVALID_CURSOR')
      return input
    }),
    'cursor: may be null',
  ],
  'accepts the beginning of a cursor': [
    overKnownCursors((cursor, known) => cursor !== known && known.startsWith(cursor)),
    'cursor: is invalid if truncated',
  ],
  'treats a cursor that is not a string as absent': [
    storeInput('listByScope', (input) =>
      typeof input?.cursor === 'number' ? { ...input, cursor: null } : input,
    ),
    'cursor: is invalid if it is not a string',
  ],
}

function overCursors(
  decode: (cursor: string) => string,
  encode: (cursor: string) => string,
): Mutant['createStore'] {
  return overStore((store) => ({
    async listByScope(input) {
      const page = await store.listByScope({ ...input, cursor: input.cursor && decode(input.cursor) })
      return page.nextCursor === undefined ? page : { ...page, nextCursor: encode(page.nextCursor) }
    },
  }))
}

/** Takes an invalid cursor for a known one that resembles it. */
function overKnownCursors(
  resembles: (cursor: string, known: string, other: string) => boolean,
): Mutant['createStore'] {
  return overStore((store) => {
    const known: string[] = []
    return {
      async listByScope(input) {
        const { cursor } = input
        const meant = known.find((each) => known.some((other) => cursor && resembles(cursor, each, other)))
        const page = await store.listByScope({ ...input, cursor: meant ?? cursor })
        if (page.nextCursor !== undefined) known.push(page.nextCursor)
        return page
      },
    }
  })
}
