import { overDriver, driverResult, driverCall, driverInput, type Mutants } from './mutant.js'

type Scopes = Awaited<ReturnType<NonNullable<Parameters<Parameters<typeof overDriver>[0]>[0]['listScopes']>>>

/** Replaces the result of every page of scopes. */
const overPages = (broken: (scopes: Scopes) => Scopes) =>
  overDriver((driver) => ({ listScopes: async (query) => broken(await driver.listScopes(query)) }))

const all = { limit: 1000, after: null }

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
    driverCall('listScopes', async ({ limit, after }, driver) => {
      const scopes = await driver.listScopes(all)
      const sorted = scopes.sort((a, b) => (a.scope < b.scope ? -1 : 1))
      return sorted.filter(({ scope }) => after === null || scope > after).slice(0, limit)
    }),
    'listScopes: sorts scopes by their bytes, on every page',
  ],
  'lists scopes that differ only in case as one': [
    driverCall('listScopes', async ({ limit, after }, driver) => {
      const scopes = await driver.listScopes(all)
      const isFirst = ({ scope }: Scopes[number], index: number) =>
        scopes.findIndex((other) => other.scope.toLowerCase() === scope.toLowerCase()) === index
      const start = after === null ? 0 : scopes.findIndex(({ scope }) => scope === after) + 1
      if (start === 0 && after !== null) return driver.listScopes({ limit, after })
      return scopes
        .filter(isFirst)
        .filter((each) => scopes.indexOf(each) >= start)
        .slice(0, limit)
    }),
    'listScopes: sorts scopes by their bytes, on every page',
    'listScopes: keeps similar scopes apart',
  ],
  'starts a page of scopes at the given one': [
    driverCall('listScopes', async ({ limit, after }, driver) => {
      const scopes = await driver.listScopes(all)
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
}
