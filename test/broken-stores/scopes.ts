import { compareBytes } from '../conformance/model/rows.js'
import { overDriver, driverResult, driverCall, driverInput, storeInput, type Mutants } from './mutant.js'

type Scopes = Awaited<ReturnType<NonNullable<Parameters<Parameters<typeof overDriver>[0]>[0]['listScopes']>>>

/** Replaces the result of every page of scopes. */
const overPages = (broken: (scopes: Scopes) => Scopes) =>
  overDriver((driver) => ({ listScopes: async (query) => broken(await driver.listScopes(query)) }))

const all = { limit: 1000, prefix: null, after: null }

const PREFIX = 'listScopes with a prefix'

/** Replaces how a scope is compared with a prefix. */
const overPrefix = (startsWith: (scope: string, prefix: string) => boolean) =>
  driverCall('listScopes', async ({ limit, prefix, after }, driver) => {
    if (prefix === null) return driver.listScopes({ limit, prefix, after })
    const scopes = await driver.listScopes({ ...all, after })
    return scopes.filter(({ scope }) => startsWith(scope, prefix)).slice(0, limit)
  })

/** The pattern of `LIKE`. */
function likePrefix(prefix: string): RegExp {
  const literal = prefix.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
  return new RegExp(`^${literal.replaceAll('%', '.*').replaceAll('_', '.')}`, 'su')
}

/** Mutants of `listScopes`. */
export const scopeMutants: Mutants = {
  'counts no history in the list of scopes': [
    overPages((scopes) => scopes.map((each) => ({ ...each, counts: { ...each.counts, deleted: 0 } }))),
    'listScopes: returns the usage and the number of rows of each scope',
  ],
  'lists no scope without usage': [
    overPages((scopes) => scopes.filter(({ usage }) => usage.files + usage.reservedFiles > 0)),
    'listScopes: returns the usage and the number of rows of each scope',
  ],
  'invents a scope if there is none': [
    driverResult('listScopes', (scopes, query) => {
      const usage = { bytes: 0, files: 0, reservedBytes: 0, reservedFiles: 0 }
      const counts = { active: 0, pending: 0, deleted: 0 }
      return scopes.length === 0 && query.after === null ? [{ scope: 'own', usage, counts }] : scopes
    }),
    'listScopes: returns nothing from an empty store',
  ],
  'sorts scopes in UTF-16 order': [
    driverCall('listScopes', async ({ limit, prefix, after }, driver) => {
      const scopes = await driver.listScopes({ ...all, prefix })
      const sorted = scopes.sort((a, b) => (a.scope < b.scope ? -1 : 1))
      return sorted.filter(({ scope }) => after === null || scope > after).slice(0, limit)
    }),
    'listScopes: sorts scopes by their bytes, on every page',
  ],
  'lists scopes that differ only in case as one': [
    driverCall('listScopes', async ({ limit, prefix, after }, driver) => {
      const scopes = await driver.listScopes({ ...all, prefix })
      const isFirst = ({ scope }: Scopes[number], index: number) =>
        scopes.findIndex((other) => other.scope.toLowerCase() === scope.toLowerCase()) === index
      const start = after === null ? 0 : scopes.findIndex(({ scope }) => scope === after) + 1
      if (start === 0 && after !== null) return driver.listScopes({ limit, prefix, after })
      return scopes
        .filter(isFirst)
        .filter((each) => scopes.indexOf(each) >= start)
        .slice(0, limit)
    }),
    'listScopes: sorts scopes by their bytes, on every page',
    'listScopes: keeps similar scopes apart',
  ],
  'starts a page of scopes at the given one': [
    driverCall('listScopes', async ({ limit, prefix, after }, driver) => {
      const scopes = await driver.listScopes({ ...all, prefix })
      if (after === null || !scopes.some(({ scope }) => scope === after))
        return scopes.slice(0, after === null ? limit : 0)
      return scopes.slice(scopes.findIndex(({ scope }) => scope === after) + 1).slice(0, limit)
    }),
    'listScopes: starts after a scope that need not exist',
  ],
  'lists at most 100 scopes': [
    driverInput('listScopes', (query) => ({ ...query, limit: Math.min(100, query.limit) })),
    'listScopes: returns 100 scopes by default',
  ],
  'lists old usage of a scope that is empty': [
    driverResult('listScopes', (scopes, query) => {
      const usage = { bytes: 10, files: 1, reservedBytes: 0, reservedFiles: 0 }
      const counts = { active: 1, pending: 0, deleted: 0 }
      const isOnlyBob = scopes.length === 1 && scopes[0]!.scope === 'bob' && query.after === null
      return isOnlyBob ? [{ scope: 'alice', usage, counts }, ...scopes] : scopes
    }),
    'listScopes: returns zeros, if anything, for a scope that holds nothing any more',
  ],
  'ignores the prefix of scopes': [
    driverInput('listScopes', (query) => ({ ...query, prefix: null })),
    `${PREFIX}: returns the scopes that start with it, and not those beside them`,
  ],
  'starts at a prefix of scopes, but does not end behind it': [
    overPrefix((scope, prefix) => compareBytes(scope, prefix) >= 0),
    `${PREFIX}: returns the scopes that start with it, and not those beside them`,
  ],
  'leaves out the scope that equals the prefix': [
    overPrefix((scope, prefix) => scope !== prefix && scope.startsWith(prefix)),
    `${PREFIX}: returns the scopes that start with it, and not those beside them`,
  ],
  'ignores the case of a prefix of scopes': [
    overPrefix((scope, prefix) => scope.toLowerCase().startsWith(prefix.toLowerCase())),
    `${PREFIX}: returns the scopes that start with it, and not those beside them`,
  ],
  'takes a prefix of scopes as a pattern': [
    overPrefix((scope, prefix) => likePrefix(prefix).test(scope)),
    `${PREFIX}: takes every character literally`,
  ],
  'ends the scopes of a prefix at the next UTF-16 unit': [
    overPrefix((scope, prefix) => {
      const end = prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1)
      return scope >= prefix && scope < end
    }),
    `${PREFIX}: ends after the last of them in byte order, on every page`,
  ],
  'ends the scopes of a prefix before U+10FFFF': [
    overPrefix((scope, prefix) => scope.startsWith(prefix) && !scope.startsWith(`${prefix}\u{10ffff}`)),
    `${PREFIX}: ends after the last of them in byte order, on every page`,
  ],
  'starts after a given scope, even before the prefix': [
    driverCall('listScopes', async ({ limit, prefix, after }, driver) => {
      if (prefix === null || after === null) return driver.listScopes({ limit, prefix, after })
      const scopes = await driver.listScopes({ ...all, after })
      const end = scopes.findLastIndex(({ scope }) => scope.startsWith(prefix)) + 1
      return scopes.slice(0, end).slice(0, limit)
    }),
    `${PREFIX}: starts after a scope before, among or behind them`,
  ],
  'counts the scopes of earlier pages': [
    overDriver((driver) => {
      let returned = 0
      return {
        async listScopes({ limit, prefix, after }) {
          if (prefix === null) return driver.listScopes({ limit, prefix, after })
          if (after === null) returned = 0
          const scopes = await driver.listScopes({ ...all, prefix })
          const page = scopes.slice(returned, returned + limit)
          returned += page.length
          return page
        },
      }
    }),
    `${PREFIX}: goes on behind scopes that have vanished, and returns new ones`,
  ],
  'lists all scopes if the prefix is not set': [
    storeInput('listScopes', ({ prefix, ...input } = {}) => ({
      ...input,
      ...(prefix != null && { prefix }),
    })),
    'validation: listScopes names every invalid field, and changes nothing',
  ],
}
