import type { StorageObjectStore } from '../../../src/core/store/contract.js'
import { holds, refused, same, sameFields } from '../assertions.js'
import { ConformanceFailure } from '../failure.js'
import { HOUR } from '../clock.js'
import { Notation } from '../notation.js'
import { observed } from '../outcome.js'
import type { ReportedChange } from '../event-views.js'
import type { CaseGroup, Given } from '../given.js'
import { allOf, numbers } from '../given.js'

/** One call of each kind that reads or writes rows. */
function callsOf(given: Given): Record<string, () => Promise<unknown>> {
  const { store, scope, at, clock } = given
  const reference = { ...at, scope }
  return {
    listByScope: () => store.listByScope({ scope }),
    countByScope: () => store.countByScope(scope),
    getScopeUsage: () => store.getScopeUsage(scope),
    find: () => store.find(reference),
    findActive: () => store.findActive(reference),
    findPending: () => store.findPending(reference),
    reserve: () => store.reserve({ ...reference, declaredSize: 1, expiresAt: clock.in(HOUR) }),
    confirm: () => store.confirm({ ...reference, size: 1 }),
    release: () => store.release(reference),
    remove: () => store.remove(reference),
    listExpired: () => store.listExpired(),
    purgeExpired: () => store.purgeExpired(),
    listLeftovers: () => store.listLeftovers(),
    purgeDeleted: () => store.purgeDeleted({ before: clock.now() }),
    checkUsage: () => store.checkUsage(scope),
    repairUsage: () => store.repairUsage(scope),
  }
}

export const unmigratedCases: CaseGroup = {
  title: 'a place without a schema',
  needs: 'createEmpty',
  cases: {
    'fails every call with DATABASE_UNAVAILABLE, not retryable, until migrate has run': async (given) => {
      for (const [name, call] of Object.entries(callsOf(given))) {
        const outcome = await observed(call)
        if ('error' in outcome && outcome.error === 'DATABASE_UNAVAILABLE' && outcome.retryable === false) {
          holds(
            /migrate/.test(outcome.message),
            `${name}: the message doesn't name migrate (got "${outcome.message}")`,
          )
          continue
        }
        const got = new Notation().outcome(outcome)
        const hint = 'error' in outcome && outcome.error === 'DATABASE_UNAVAILABLE' ? ', retryable' : ''
        throw new ConformanceFailure(
          `${name}: expected DATABASE_UNAVAILABLE, not retryable, got ${got}${hint}`,
        )
      }
    },

    'is reported by verify, which changes nothing': async ({ store }) => {
      const found = await store.verify()
      holds(found.length > 0, 'verify found nothing missing before migrate')
      same(await store.verify(), found, 'verify, repeated')
      const { from } = await store.migrate()
      same(from, 0, 'the version before migrate')
    },

    'is migrated from version 0 to a higher one, once': async (given) => {
      const { store, at } = given
      const { from, to } = await store.migrate()
      same(from, 0, '`from` of the first migrate')
      holds(to > 0, `\`to\` of the first migrate: expected 1 or more, got ${to}`)
      same(await store.migrate(), { from: to, to }, 'the second migrate')
      same(await store.verify(), [], 'verify')
      const active = await given.activate()
      same(await store.find(at), active, 'the result of find')
    },

    'records no events unless it is told to': async (given) => {
      const { store, at } = given
      await store.migrate()
      await given.activate()
      await store.remove(at)
      same(await store.listEvents(), { items: [], next: null }, 'the events')
    },

    'is migrated by any number of concurrent calls': async (given) => {
      const { store } = given
      const results = await allOf(numbers(4).map(() => store.migrate()))
      const to = Math.max(...results.map((each) => each.to))
      for (const result of results) same(result.to, to, '`to` of a concurrent migrate')
      same(await store.migrate(), { from: to, to }, 'a later migrate')
      same(await store.verify(), [], 'verify')
      await given.activate()
    },
  },
}

/** Returns all that two stores can read of a scope. */
async function stateOf(store: StorageObjectStore, { scope, at }: Given): Promise<unknown> {
  return {
    rows: await store.listByScope({ scope }),
    history: await store.listByScope({ scope, status: 'deleted' }),
    found: await store.find(at),
    counts: [await store.countByScope(scope), await store.countByScope(scope, 'deleted')],
    usage: await store.getScopeUsage(scope),
    expired: await store.listExpired(),
    leftovers: await store.listLeftovers(),
    check: [await store.verify(), await store.checkUsage()],
  }
}

export const reopenedCases: CaseGroup = {
  title: 'two stores on one place',
  needs: 'reopen',
  cases: {
    'return the same, and see what the other has written': async (given) => {
      const { store, place, clock, scope } = given
      await given.activate({ metadata: { a: '1' }, storageKey: 'stored' })
      await given.reserve({ storageKey: 'next', uploadId: 'upload' })
      await given.history({ key: 'removed', storageKey: 'left' })
      await given.reserve({ key: 'expired', expiresAt: clock.in(1) })
      clock.advance(HOUR / 2)
      const other = await place.reopen()
      same(await stateOf(other, given), await stateOf(store, given), 'what the other store returns')
      const confirmed = await other.confirm({ ...given.at, size: 3 })
      same(await store.find(given.at), confirmed, 'the row that the other store confirmed')
      await store.release({ bucket: 'bucket', key: 'expired' })
      same(await other.countByScope(scope, 'pending'), 0, 'pending rows of the other store')
      same(
        await stateOf(other, given),
        await stateOf(store, given),
        'what the other store returns in the end',
      )
    },

    'never exceed a quota together, and fill it': async (given) => {
      const { store, scope, place } = given
      const stores = [store, await place.reopen()]
      const quota = { maxBytes: 60, maxFiles: null }
      const calls = numbers(16).map((n) =>
        observed(() => stores[n % 2]!.reserve(given.input({ key: `key ${n}`, quota }))),
      )
      const accepted = (await Promise.all(calls)).filter((outcome) => 'ok' in outcome)
      same(accepted.length, 6, 'accepted reserves')
      sameFields(await store.getScopeUsage(scope), { reservedBytes: 60, reservedFiles: 6 })
      same(await stores[1]!.checkUsage(), [], 'checkUsage')
    },

    'give a key to one of two scopes': async (given) => {
      const { store, place } = given
      const stores = [store, await place.reopen()]
      for (const key of ['a', 'b', 'c', 'd', 'e']) {
        const calls = numbers(4).map((n) =>
          observed(() => stores[n % 2]!.reserve(given.input({ key, scope: `scope ${n}` }))),
        )
        const accepted = (await Promise.all(calls)).filter((outcome) => 'ok' in outcome)
        same(accepted.length, 1, `scopes that got the key ${key}`)
      }
    },

    'rely on nothing that the other has changed': async (given) => {
      const { store, scope, otherScope, place } = given
      const other = await place.reopen()
      const named = (key: string) => ({ bucket: given.at.bucket, key })
      const released = await given.reserve(named('released'))
      await other.release(named('released'))
      await refused(() => given.confirm({ ...named('released'), id: released.id }), 'OBJECT_NOT_FOUND')

      const replaced = await given.reserve(named('replaced'))
      const replacement = await other.reserve(given.input(named('replaced')))
      await refused(() => given.confirm({ ...named('replaced'), id: replaced.id }), 'OBJECT_NOT_FOUND')
      same(await store.findPending(named('replaced')), replacement, 'the attempt of the other store')

      await given.activate(named('freed'))
      await store.remove({ ...named('freed'), mode: 'hard' })
      const taken = await other.reserve(given.input({ ...named('freed'), scope: otherScope }))
      await refused(() => given.reserve(named('freed')), 'KEY_CONFLICT')
      same(await store.find(named('freed')), taken, 'the row that the other store wrote')

      const quota = { maxBytes: null, maxFiles: 3 }
      await given.reserve({ ...named('second'), quota })
      await other.reserve(given.input({ ...named('third'), quota }))
      await refused(() => given.reserve({ ...named('fourth'), quota }), 'QUOTA_EXCEEDED')
      sameFields(await store.getScopeUsage(scope), { reservedFiles: 3 })
      same(await store.checkUsage(), [], 'checkUsage')
    },

    'migrate again without a change': async ({ store, place }) => {
      const other = await place.reopen()
      const { from, to } = await other.migrate()
      same(from, to, '`from` of the migrate')
      same(await store.verify(), [], 'verify')
    },
  },
}

export const reopenedEventCases: CaseGroup = {
  title: 'two stores on one place with events',
  needs: 'reopen',
  events: true,
  cases: {
    'both record, although only one was configured to': async (given) => {
      const { store, place, at } = given
      const other = await place.reopen()
      const row = await given.activate()
      await other.remove(at)
      same(
        (await given.takeEvents()).map(({ type, object }) => [type, object.id]),
        [
          ['activated', row.id],
          ['deleted', row.id],
        ],
        'the events',
      )
      same((await store.listEvents()).items, [], 'events in the end')
    },

    'are switched off and on again': async (given) => {
      const { store, place, at } = given
      const changesOf = (changes: readonly ReportedChange[]) =>
        changes.map(({ type, object }) => `${type} ${object.key}`)
      await given.activate()
      const off = await place.reopen({ events: false })
      await off.migrate()
      await off.remove(at)
      await off.adopt({ ...at, scope: given.scope, storageKey: 's', size: 1, createdAt: given.clock.now() })
      await off.update({ ...at, filename: 'name' })
      same((await off.countEvents()).waiting, 1, 'events after changes while they are off')
      const on = await place.reopen({ events: true })
      await on.migrate()
      await on.transfer({ ...at, from: given.scope, to: given.otherScope })
      const unset = await place.reopen()
      await unset.migrate()
      await unset.remove(at)
      same(
        changesOf(await given.takeEvents()),
        ['activated key', 'transferred key', 'deleted key'],
        'the events',
      )
      same((await store.listEvents()).items, [], 'events in the end')
    },

    'claim each event once, and settle the claims of each other': async (given) => {
      const { store, place } = given
      const other = await place.reopen()
      await allOf(numbers(6).map((n) => given.activate({ key: `key ${n}` })))
      const [own, others] = await allOf([store.claimEvents({ limit: 4 }), other.claimEvents({ limit: 4 })])
      const rest = await store.claimEvents()
      const claimed = [...own!, ...others!, ...rest]
      same(new Set(claimed.map(({ id }) => id)).size, 6, 'claimed events')
      same(claimed.length, 6, 'claims')
      const entries = claimed.map(({ id, claim }) => ({ id, claim }))
      same((await other.settleEvents(entries)).length, 6, 'settled events')
      same(await store.countEvents(), { waiting: 0, claimed: 0, retrying: 0 })
    },
  },
}

export const tamperedCases: CaseGroup = {
  title: 'spoiled usage',
  needs: 'tamper',
  cases: {
    'is reported by checkUsage, which changes nothing': async (given) => {
      const { store, scope, otherScope, place } = given
      await given.activate({ declaredSize: 7 })
      await given.reserve({ key: 'pending', declaredSize: 5 })
      await given.activate({ key: 'other', scope: otherScope })
      const actual = await store.getScopeUsage(scope)
      await place.tamper(scope)
      const recorded = await store.getScopeUsage(scope)
      for (const of of [scope, null, undefined]) {
        same(await store.checkUsage(of), [{ scope, recorded, actual }], `checkUsage(${String(of)})`)
      }
      for (const other of [otherScope, `${scope}2`, scope.slice(0, -1), scope.toUpperCase()])
        same(await store.checkUsage(other), [], `checkUsage of the scope ${other}`)
      same(await store.getScopeUsage(scope), recorded, 'usage after checkUsage')
    },

    'is corrected by repairUsage of its scope or of all, which returns the differences': async (given) => {
      const { store, scope, otherScope, place } = given
      await given.activate({ declaredSize: 7 })
      await given.activate({ key: 'overwritten', declaredSize: 3 })
      await given.reserve({ key: 'overwritten', declaredSize: 5 })
      await given.activate({ key: 'other', scope: otherScope })
      const actual = await store.getScopeUsage(scope)
      for (const of of [scope, null]) {
        await place.tamper(scope)
        const recorded = await store.getScopeUsage(scope)
        same(await store.repairUsage(otherScope), [], 'repairUsage of another scope')
        same(await store.getScopeUsage(scope), recorded, 'usage after repairUsage of another scope')
        same(await store.repairUsage(of), [{ scope, recorded, actual }], `repairUsage(${String(of)})`)
        same(await store.getScopeUsage(scope), actual, 'usage after repairUsage')
        same(await store.checkUsage(), [], 'checkUsage after repairUsage')
        same(await store.countByScope(scope), 3, 'rows of the scope')
      }
      await refused(
        () => given.reserve({ key: 'more', declaredSize: 1, quota: { maxFiles: 2, maxBytes: null } }),
        'QUOTA_EXCEEDED',
      )
    },

    'of two scopes is reported and corrected for both': async (given) => {
      const { store, scope, otherScope, place } = given
      await given.activate({ declaredSize: 7 })
      await given.activate({ key: 'other', scope: otherScope })
      await place.tamper(scope)
      await place.tamper(otherScope)
      const scopesOf = (found: readonly { readonly scope: string }[]) =>
        found.map((each) => each.scope).sort()
      same(scopesOf(await store.checkUsage()), [scope, otherScope], 'scopes of checkUsage')
      same(scopesOf(await store.repairUsage()), [scope, otherScope], 'scopes of repairUsage')
      same(await store.checkUsage(), [], 'checkUsage after repairUsage')
    },
  },
}
