import { holds, same } from '../assertions.js'
import { HOUR } from '../clock.js'
import type { CaseGroup } from '../given.js'
import { allOf, numbers } from '../given.js'

export const maintenanceCases: CaseGroup = {
  title: 'maintenance',
  cases: {
    'verify finds nothing missing': async ({ store }) => {
      same(await store.verify(), [])
    },

    'migrate can be repeated, also concurrently, and keeps all rows': async (given) => {
      const { store, at } = given
      const active = await given.activate()
      for (const { from, to } of [
        await store.migrate(),
        ...(await allOf([1, 2, 3].map(() => store.migrate()))),
      ]) {
        holds(
          Number.isInteger(from) && from === to,
          `migrate reported a migration from ${from} to ${to}, expected none`,
        )
      }
      same(await store.find(at), active, 'the result of find')
      same(await store.verify(), [], 'verify')
    },

    'checkUsage and repairUsage find nothing wrong after every kind of write': async (given) => {
      const { store, clock, at, scope, otherScope } = given
      await given.activate({ key: 'a', declaredSize: 3 })
      await given.activate({ declaredSize: 5 })
      await given.reserve({ declaredSize: 8 })
      await given.activate({ key: 'b', scope: otherScope })
      await store.remove({ ...at, key: 'b' })
      await given.reserve({ key: 'c' })
      clock.advance(2 * HOUR)
      await given.reserve({ key: 'c', scope: otherScope })
      await store.purgeExpired()
      const before = [await store.getScopeUsage(scope), await store.getScopeUsage(otherScope)]
      for (const of of [undefined, null, scope, otherScope, 'unknown']) {
        same(await store.checkUsage(of), [], 'checkUsage')
        same(await store.repairUsage(of), [], 'repairUsage')
      }
      same([await store.getScopeUsage(scope), await store.getScopeUsage(otherScope)], before, 'usage')
      same(await store.countByScope(scope), 2, 'rows of the scope')
    },

    'checkUsage and repairUsage are correct during concurrent writes': async (given) => {
      const { store, scope } = given
      const writers = numbers(8).map(async (writer) => {
        for (const size of [1, 2, 3]) {
          await given.activate({ key: `key ${writer}`, declaredSize: size })
          await given.reserve({ key: `key ${writer}`, declaredSize: size + 1 })
        }
        if (writer % 2 === 0) await store.remove({ bucket: 'bucket', key: `key ${writer}` })
      })
      const checks = numbers(5).map(async () => [await store.checkUsage(), await store.repairUsage(scope)])
      const found = allOf(checks)
      await allOf<unknown>([found, allOf(writers)])
      for (const differences of await found) same(differences, [[], []], 'checkUsage and repairUsage')
      const usage = { bytes: 12, files: 4, reservedBytes: 4, reservedFiles: 0 }
      same(await store.getScopeUsage(scope), usage, 'usage')
    },

    'ping resolves': async ({ store }) => {
      same(await store.ping(), undefined)
    },
  },
}
