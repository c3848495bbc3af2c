import type { ListScopesInput } from '../../../src/core/store/contract.js'
import type { ScopeSummary } from '../../../src/core/store/records.js'
import { holds, same } from '../assertions.js'
import { compareBytes } from '../model/rows.js'
import { AWKWARD } from '../properties/texts.js'
import type { CaseGroup, Given } from '../given.js'
import { NO_USAGE, allOf, numbers } from '../given.js'

/** In byte order, which differs from UTF-16 order after U+D7FF, and from every order of languages. */
export const IN_BYTE_ORDER = [
  '\u0001',
  ' ',
  '$',
  '0',
  'A',
  'B',
  'Z',
  '_',
  'a',
  'a\u0001',
  'a ',
  'aB',
  'aa',
  'a\u00e9',
  'b',
  '~',
  '\u00df',
  '\u00e9',
  '\u00e9a',
  '\u0130',
  '\u4e2d',
  '\ud7ff',
  '\ue000',
  '\ufeff',
  '\uffff',
  '\u{10000}',
  '\u{1f600}',
  '\u{1f600}a',
  '\u{2a6d6}',
  '\u{e0001}',
  '\u{10ffff}',
]

const NOTHING = {
  usage: NO_USAGE,
  counts: { active: 0, pending: 0, deleted: 0 },
}

/** Returns all scopes, or those with a prefix, by pages of this size. */
async function pagesOf(
  { store }: Given,
  limit: number,
  filter: Pick<ListScopesInput, 'prefix'> = {},
): Promise<ScopeSummary[]> {
  const all: ScopeSummary[] = []
  for (;;) {
    const page = await store.listScopes({ ...filter, limit, after: all.at(-1)?.scope })
    holds(page.length <= limit, `a page of ${page.length} scopes, with a limit of ${limit}`)
    if (page.length === 0 || all.length > 1000) return all
    all.push(...page)
  }
}

const scopesOf = (summaries: readonly ScopeSummary[]) => summaries.map(({ scope }) => scope)

async function reserveFor(given: Given, scopes: readonly string[]): Promise<void> {
  await allOf(scopes.map((scope, index) => given.reserve({ scope, key: `key ${index}` })))
}

export const listScopesCases: CaseGroup = {
  title: 'listScopes',
  cases: {
    'returns the usage and the number of rows of each scope': async (given) => {
      const { store, scope, otherScope } = given
      await given.activate({ declaredSize: 7 })
      await given.reserve({ declaredSize: 9 })
      await given.reserve({ key: 'b', declaredSize: 4 })
      await given.history({ key: 'c' })
      await given.history({ key: 'c' })
      await given.history({ scope: otherScope, key: 'd' })
      same(await store.listScopes(), [
        {
          scope,
          usage: { bytes: 7, files: 1, reservedBytes: 6, reservedFiles: 1 },
          counts: { active: 1, pending: 2, deleted: 2 },
        },
        { ...NOTHING, scope: otherScope, counts: { active: 0, pending: 0, deleted: 1 } },
      ])
    },

    'returns nothing from an empty store': async ({ store }) => {
      same(await store.listScopes(), [])
      same(await store.listScopes({}), [], 'the result of an empty input')
    },

    'sorts scopes by their bytes, on every page': async (given) => {
      await reserveFor(given, IN_BYTE_ORDER.toReversed())
      for (const limit of [1, 3, 1000]) {
        same(scopesOf(await pagesOf(given, limit)), IN_BYTE_ORDER, `scopes by pages of ${limit}`)
      }
    },

    'keeps similar scopes apart': async (given) => {
      const scopes = [...new Set([...AWKWARD, 'Name', 'name', 'NAME', 'name ', 'nam\u00e9', 'name\u0301'])]
      await reserveFor(given, scopes)
      const found = await pagesOf(given, 5)
      same(scopesOf(found).sort(), scopes.toSorted(), 'scopes')
      for (const { scope, counts } of found)
        same(counts, { active: 0, pending: 1, deleted: 0 }, `the counts of ${JSON.stringify(scope)}`)
    },

    'starts after a scope that need not exist': async (given) => {
      const { store } = given
      await reserveFor(given, ['a', 'b', 'bb', 'c'])
      same(scopesOf(await store.listScopes({ after: 'b' })), ['bb', 'c'], 'scopes after b')
      same(scopesOf(await store.listScopes({ after: 'ba' })), ['bb', 'c'], 'scopes after ba')
      same(scopesOf(await store.listScopes({ after: '\u{10ffff}' })), [], 'scopes after the last')
      same(scopesOf(await store.listScopes({ after: '\u0001', limit: 1 })), ['a'], 'the first scope')
    },

    'returns 100 scopes by default': async (given) => {
      const scopes = numbers(101).map((number) => `scope ${String(number).padStart(3, '0')}`)
      await reserveFor(given, scopes)
      same(scopesOf(await given.store.listScopes()), scopes.slice(0, 100), 'scopes')
      same(scopesOf(await given.store.listScopes({ limit: 1000 })), scopes, 'scopes with a limit of 1000')
    },

    'returns zeros, if anything, for a scope that holds nothing any more': async (given) => {
      const { store, clock, at, otherScope } = given
      await given.activate({ storageKey: 'stored' })
      await given.history({ key: 'b' })
      await store.remove({ ...at, mode: 'hard' })
      await store.purgeDeleted({ before: clock.now() })
      await given.reserve({ key: 'c', scope: otherScope })
      for (const { scope, ...summary } of await store.listScopes()) {
        if (scope === otherScope) same(summary.counts.pending, 1, 'pending rows of the other scope')
        else same({ scope, ...summary }, { scope: given.scope, ...NOTHING }, 'the empty scope')
      }
    },
  },
}

export const scopePrefixCases: CaseGroup = {
  title: 'listScopes with a prefix',
  cases: {
    'returns the scopes that start with it, and not those beside them': async (given) => {
      const own = ['acme:', 'acme:a', 'acme:a:b', 'acme:\u{10ffff}']
      const others = ['acme', 'acme9', 'acme;', 'acmf:', 'acm', 'Acme:a', 'b:acme:', 'ac', 'z']
      await reserveFor(given, [...others, ...own])
      same(scopesOf(await given.store.listScopes({ prefix: 'acme:' })), own, 'scopes with acme:')
      same(scopesOf(await given.store.listScopes({ prefix: 'acme:b' })), [], 'scopes with acme:b')
      same(scopesOf(await given.store.listScopes({ prefix: 'acmf:' })), ['acmf:'], 'scopes with acmf:')
    },

    'takes every character literally': async (given) => {
      const scopes = [...new Set(AWKWARD.flatMap((text) => [text, `${text}a`, `a${text}`]))]
      await reserveFor(given, scopes)
      for (const prefix of AWKWARD) {
        const expected = scopes.filter((scope) => scope.startsWith(prefix)).sort(compareBytes)
        same(scopesOf(await given.store.listScopes({ prefix })), expected, JSON.stringify(prefix))
      }
    },

    'ends after the last of them in byte order, on every page': async (given) => {
      const ends = IN_BYTE_ORDER.flatMap((text) => [`${text}\ud7ff`, `${text}\ue000`, `${text}\u{10ffff}`])
      const scopes = [...new Set([...IN_BYTE_ORDER, ...ends])].sort(compareBytes)
      await reserveFor(given, scopes)
      for (const prefix of [...IN_BYTE_ORDER, 'a\ud7ff', '\u{10ffff}\u{10ffff}']) {
        const expected = scopes.filter((scope) => scope.startsWith(prefix))
        for (const limit of [1, 3, 1000]) {
          const found = scopesOf(await pagesOf(given, limit, { prefix }))
          same(found, expected, `scopes with ${JSON.stringify(prefix)} by pages of ${limit}`)
        }
      }
    },

    'starts after a scope before, among or behind them': async (given) => {
      await reserveFor(given, ['a', 'b', 'b:', 'b:1', 'b:2', 'c'])
      const expected: Readonly<Record<string, readonly string[]>> = {
        a: ['b:', 'b:1', 'b:2'],
        b: ['b:', 'b:1', 'b:2'],
        'b:': ['b:1', 'b:2'],
        'b:15': ['b:2'],
        'b:2': [],
        c: [],
      }
      for (const [after, scopes] of Object.entries(expected)) {
        same(scopesOf(await given.store.listScopes({ prefix: 'b:', after })), scopes, `scopes after ${after}`)
      }
    },

    'goes on behind scopes that have vanished, and returns new ones': async (given) => {
      const { store } = given
      const scopes = ['t:a', 't:b', 't:c', 't:e']
      await reserveFor(given, [...scopes, 'u'])
      const first = scopesOf(await store.listScopes({ prefix: 't:', limit: 2 }))
      same(first, ['t:a', 't:b'], 'the first page')
      for (const scope of first) await store.release({ ...given.at, key: `key ${scopes.indexOf(scope)}` })
      await given.reserve({ scope: 't:d', key: 'new' })
      await given.reserve({ scope: 't:a', key: 'late' })
      const next = scopesOf(await store.listScopes({ prefix: 't:', limit: 2, after: 't:b' }))
      same(next, ['t:c', 't:d'], 'the second page')
      same(
        scopesOf(await store.listScopes({ prefix: 't:', limit: 2, after: 't:d' })),
        ['t:e'],
        'the last page',
      )
    },
  },
}
