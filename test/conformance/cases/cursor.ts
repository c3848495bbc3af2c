import { holds, refused, same } from '../assertions.js'
import type { CaseGroup, Given } from '../given.js'
import { allOf, idsOf, numbers } from '../given.js'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/** Creates three rows and returns the cursor after the newest. */
async function someCursor(given: Given): Promise<string> {
  await given.reserveEach([{}, {}, {}])
  return cursorOf(given)
}

async function cursorOf({ store, scope }: Given): Promise<string> {
  const { nextCursor } = await store.listByScope({ scope, limit: 1 })
  holds(nextCursor !== undefined, 'the first of three pages has no cursor')
  return nextCursor
}

/** Checks that every cursor is refused. */
async function allInvalid({ store, scope }: Given, cursors: readonly unknown[]): Promise<void> {
  await allOf(
    cursors.map((cursor) =>
      refused(() => store.listByScope({ scope, cursor: cursor as string }), 'INVALID_CURSOR').catch(
        (error: Error) => {
          error.message = `cursor ${JSON.stringify(cursor) ?? String(cursor)}: ${error.message}`
          throw error
        },
      ),
    ),
  )
}

/** Returns replacements for a character: some that differ in one bit, the other case, and some outside the alphabet. */
function othersFor(character: string): string[] {
  const at = ALPHABET.indexOf(character)
  const neighbours = [1, 2, 4, 16, 32].map((distance) => ALPHABET[at ^ distance] ?? '!')
  const all = [...neighbours, character.toUpperCase(), character.toLowerCase(), ' ', 'é', '=']
  return all.filter((other) => other !== character)
}

export const cursorCases: CaseGroup = {
  title: 'cursor',
  cases: {
    'is URL-safe and at most 200 characters long': async (given) => {
      const cursor = await someCursor(given)
      holds(
        /^[A-Za-z0-9._~-]{1,200}$/.test(cursor),
        `"${cursor}" is not URL-safe, or not of 1 to 200 characters`,
      )
    },

    'is URL-safe and at most 200 characters long even if all names have their maximum length': async (
      given,
    ) => {
      const scope = 's'.repeat(255)
      const name = 'n'.repeat(255)
      for (const letter of ['a', 'b']) {
        await given.reserve({ scope, bucket: name, key: letter.repeat(1024), route: name })
      }
      const { nextCursor } = await given.store.listByScope({ scope, route: name, limit: 1 })
      holds(/^[A-Za-z0-9._~-]{1,200}$/.test(nextCursor ?? ''), `"${nextCursor}" is not URL-safe, or too long`)
    },

    'can be reused': async (given) => {
      const { store, scope } = given
      const cursor = await someCursor(given)
      const page = await store.listByScope({ scope, cursor })
      same(await store.listByScope({ scope, cursor }), page)
    },

    'is invalid if truncated': async (given) => {
      const cursor = await someCursor(given)
      const cut = numbers(cursor.length).map((length) => cursor.slice(0, length))
      await allInvalid(given, [...cut, ...numbers(cursor.length - 1).map((start) => cursor.slice(start + 1))])
    },

    'is invalid if extended': async (given) => {
      const cursor = await someCursor(given)
      const extended = [...'A_-=.0 \n%/+', 'AAAA', cursor].flatMap((more) => [cursor + more, more + cursor])
      await allInvalid(given, extended)
    },

    'is invalid if any character is changed': async (given) => {
      const cursor = await someCursor(given)
      const changed = [...cursor].flatMap((character, index) =>
        othersFor(character).map((other) => cursor.slice(0, index) + other + cursor.slice(index + 1)),
      )
      await allInvalid(given, changed)
    },

    'is invalid if characters are swapped or reversed': async (given) => {
      const cursor = await someCursor(given)
      const swapped = numbers(cursor.length - 1)
        .map((at) => cursor.slice(0, at) + cursor[at + 1]! + cursor[at]! + cursor.slice(at + 2))
        .filter((other) => other !== cursor)
      await allInvalid(given, [...swapped, [...cursor].reverse().join(''), encodeURIComponent(`${cursor}=`)])
    },

    'is invalid if spliced from two cursors': async (given) => {
      const { store, scope } = given
      const first = await someCursor(given)
      const { nextCursor: second } = await store.listByScope({ scope, limit: 1, cursor: first })
      holds(second !== undefined && second !== first, 'the second of three pages has no new cursor')
      const mixed = numbers(first.length)
        .flatMap((at) => [first.slice(0, at) + second.slice(at), second.slice(0, at) + first.slice(at)])
        .filter((cursor) => cursor !== first && cursor !== second)
      await allInvalid(given, mixed)
    },

    'is invalid if made up': async (given) => {
      const [row] = await given.reserveEach([{}])
      const { id, createdAt } = row!
      const base64url = (text: string) =>
        btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
      await allInvalid(given, [
        '',
        '0',
        '1',
        'null',
        'undefined',
        id,
        id.replaceAll('-', ''),
        createdAt.toISOString(),
        String(createdAt.getTime()),
        ...[id, JSON.stringify({ id }), JSON.stringify([id]), JSON.stringify({ v: 1, id })].map(base64url),
        ...['v1.', '1.', '1:', 'v1_'].map((version) => version + base64url(id)),
        ...[16, 21, 28, 36, 200].map((length) => 'A'.repeat(length)),
        'A'.repeat(201),
        'A'.repeat(100_000),
        'é',
        '\0',
        '\ud800',
        '__proto__',
      ])
    },

    'is invalid if it is not a string': async (given) => {
      await given.reserveEach([{}])
      await allInvalid(given, [5, true, {}, [], 5n, new Date(0)])
    },

    'may be null': async (given) => {
      const { store, scope } = given
      const rows = await given.reserveEach([{}])
      same(await store.listByScope({ scope, cursor: null }), { objects: rows })
    },

    'returns only rows of the scope it is used with': async (given) => {
      const { store, scope, otherScope } = given
      const owners = [scope, otherScope, otherScope, scope, otherScope, scope, otherScope]
      const rows = await given.reserveEach(owners.map((owner) => ({ scope: owner })))
      const { nextCursor: cursor } = await store.listByScope({ scope, limit: 2 })
      // The cursor is at key 3, the second newest row of its scope.
      same(await store.listByScope({ scope, cursor }), { objects: [rows[0]] }, 'its own scope')
      same(
        await store.listByScope({ scope: otherScope, cursor }),
        { objects: [rows[2], rows[1]] },
        'another scope',
      )
      same(await store.listByScope({ scope: 'unknown', cursor }), { objects: [] }, 'a scope without rows')
    },

    'returns only rows that match the filter it is used with': async (given) => {
      const { store, scope } = given
      const rows = await given.reserveEach([{ route: 'r' }, {}, { route: 'r' }, {}, {}])
      for (const index of [0, 3]) rows[index] = await given.confirm({ key: `key ${index}` })
      const { nextCursor: cursor } = await store.listByScope({ scope, limit: 2 })
      // The cursor is at key 3.
      const ids = async (filter: { route?: string; status?: 'pending' | 'active' | 'deleted' }) =>
        idsOf((await store.listByScope({ scope, cursor, ...filter })).objects)
      same(await ids({}), [rows[2]!.id, rows[1]!.id, rows[0]!.id], 'ids without a filter')
      same(await ids({ route: 'r' }), [rows[2]!.id, rows[0]!.id], 'ids of a route')
      same(await ids({ status: 'active' }), [rows[0]!.id], 'ids of the active rows')
      same(await ids({ status: 'pending' }), [rows[2]!.id, rows[1]!.id], 'ids of the pending rows')
      same(await ids({ status: 'deleted' }), [], 'ids of the deleted rows')
    },

    'keeps its position after its row is gone': async (given) => {
      const { store, scope } = given
      await given.reserveEach([{}, {}, {}, {}])
      const { nextCursor: cursor } = await store.listByScope({ scope, limit: 2 })
      const before = await store.listByScope({ scope, cursor })
      await store.release({ bucket: 'bucket', key: 'key 2' })
      same(await store.listByScope({ scope, cursor }), before)
    },
  },
}
