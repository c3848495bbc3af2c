import { overRecordingDriver } from './event-driver.js'
import { gap, overDriver, overRecording, driverResult, type Mutants } from './mutant.js'

/** Mutants of what is recorded as an event. */
export const recordedEventMutants: Mutants = {
  'records the removed row as the previous one': [
    // Not as it is recorded: the memory store refuses to read such an event.
    driverResult('claimEvents', (claimed) =>
      claimed.map((event) =>
        event.type === 'deleted' ? Object.assign({}, event, { previous: event.object }) : event,
      ),
    ),
    'events: record a removed object with the row that remove returns',
  ],
  'records no previous row of a replacement': [
    overRecording((change, now) => [
      [change.type === 'activated' ? { ...change, previous: null } : change, now],
    ]),
    'events: record a replacement with the row that it replaced',
  ],
  'records hard removals as soft ones': [
    overRecording((change, now) => [
      [
        change.type === 'deleted'
          ? { ...change, object: { ...change.object, status: 'deleted', deletedAt: now, updatedAt: now } }
          : change,
        now,
      ],
    ]),
    'events: record a removed object with the row that remove returns',
    'events: return rows with any text, any metadata and any size unchanged',
  ],
  'records a repeated confirm again': [
    overRecordingDriver((driver, record) => ({
      async confirm(command) {
        const before = await driver.findActive({ ...command, scope: null })
        const result = await driver.confirm(command)
        if (result.outcome !== 'confirmed' || result.row.attemptId !== before?.attemptId) return result
        record({ type: 'activated', object: result.row, previous: null }, command.now)
        return result
      },
    })),
    'events: record a confirm and a remove once, however often they are repeated',
  ],
  'records the event of a confirm after its commit': [
    overDriver((driver) => {
      let uncommitted = 0
      return {
        async confirm(command) {
          uncommitted++
          const result = await driver.confirm(command)
          await gap()
          uncommitted--
          return result
        },
        async listEvents(query) {
          const { items, next } = await driver.listEvents(query)
          return { items: uncommitted > 0 ? items.slice(0, -uncommitted) : items, next }
        },
      }
    }),
    'events: are listed as soon as the change is visible',
  ],
  'takes the time of the row as that of the change': [
    overRecording((change, now) => [[change, change.type === 'deleted' ? change.object.updatedAt : now]]),
    'events: have the time of the change, also for a row that a hard removal returns unchanged',
  ],
  'returns the time of the claim as that of the change': [
    driverResult('claimEvents', (events, command) =>
      events.map((event) => ({ ...event, createdAt: command.now })),
    ),
    'events: record a new object as activated, without a previous row',
    'claimEvents: takes over an expired claim, with another claim and one attempt more',
    'settleEvents: schedules a retry, which is due then and not before',
  ],
  'records removed metadata with dollars without its names': [
    overRecording((change, now) => {
      const { metadata } = change.object
      const kept =
        metadata && Object.fromEntries(Object.entries(metadata).filter(([name]) => name !== '$$ROOT'))
      return [[{ ...change, object: { ...change.object, metadata: kept } }, now]]
    }),
    'events: return rows with any text, any metadata and any size unchanged',
  ],
  'records only two replacements of an object in a row': [
    (context) => {
      const inARow = new Map<string, number>()
      return overRecording((change, now) => {
        const name = JSON.stringify([change.object.bucket, change.object.key])
        const count = change.type === 'activated' ? (inARow.get(name) ?? 0) + 1 : 0
        inARow.set(name, count)
        return count > 2 ? [] : [[change, now]]
      })(context)
    },
    "claimEvents: returns an object's events one at a time, in the order of its changes",
  ],
  'records a removal twice': [
    overRecording((change, now) =>
      change.type === 'deleted'
        ? [
            [change, now],
            [change, now],
          ]
        : [[change, now]],
    ),
    'events: record a removed object with the row that remove returns',
    'events: record a confirm and a remove once, however often they are repeated',
    'events: keep the order of the changes of a key, even if clocks go back and the object is recreated',
    'events: outlive their object and its history',
    'events: return rows with any text, any metadata and any size unchanged',
  ],
  'records no event of an empty update': [
    overRecording((change, now) => (change.type === 'updated' ? [] : [[change, now]])),
    'events of update: have the rows before and after',
    'events of update: are recorded only if a field changed',
    'events of adopt: record an object that received a storage key as updated',
  ],
  'records updates with the row before as the row after': [
    overRecording((change, now) => [
      [change.type === 'updated' ? { ...change, previous: change.object } : change, now],
    ]),
    'events of update: have the rows before and after',
    'events of adopt: record an object that received a storage key as updated',
  ],
  'records transfers with the new owner in both rows': [
    overRecording((change, now) => [
      [change.type === 'transferred' ? { ...change, previous: change.object } : change, now],
    ]),
    'events of transfer: have the rows before and after',
  ],
  'records a transfer twice, for both owners': [
    overRecording((change, now) =>
      change.type === 'transferred'
        ? [
            [change, now],
            [change, now],
          ]
        : [[change, now]],
    ),
    'events of transfer: have the rows before and after',
    'events of transfer: are recorded only if the scope changed',
  ],
  'records bytes that an object received as activated': [
    overRecording((change, now) => {
      const isReceived =
        change.type === 'updated' && change.previous?.storageKey === null && change.object.storageKey !== null
      return [[isReceived ? { ...change, type: 'activated' } : change, now]]
    }),
    'events of adopt: record an object that received a storage key as updated',
  ],
  'records the end of a lapsed upload at an adopted key': [
    overRecording((change, now) => {
      const { object } = change
      const isAdopted = change.type === 'activated' && object.createdAt < object.confirmedAt!
      return isAdopted && object.scope === 'alice'
        ? [[{ ...change, previous: object }, now]]
        : [[change, now]]
    }),
    'events: record a replacement with the row that it replaced',
    'events of adopt: record a new object as activated',
  ],
  'records known bytes as activated again': [
    driverResult('adopt', async (result, command, driver) => {
      if (result.outcome === 'known' && result.object?.status === 'active')
        await driver.update({
          ...result.object,
          scope: null,
          attemptId: null,
          setMetadata: null,
          changes: { filename: 'known' },
          now: command.now,
        })
      return result
    }),
    'adopt of known bytes: returns the live row with the storage key, and changes nothing',
    'adopt of known bytes: is not refused, even if another object has the key',
    'events of adopt: record nothing of known bytes and refusals',
  ],
  'records events although they are off': [
    (context) => overRecording((change, now) => [[change, now]])({ ...context, events: true }),
    'events that are off: record nothing',
  ],
  'drops the events of history that is purged': [
    driverResult('purgeDeleted', async (result, command, driver) => {
      if (result.dropped === 0) return result
      const until = new Date(command.before.getTime() + 1)
      const claimed = await driver.claimEvents({
        limit: 1000,
        reference: null,
        attempted: null,
        lastScopes: [],
        now: command.before,
        until,
      })
      const entries = claimed.map(({ id, claim }) => ({ id, claim, retryAt: null }))
      await driver.settleEvents({ entries, now: command.before })
      return result
    }),
    'events: outlive their object and its history',
  ],
  'returns the events that it stores': [
    overDriver((driver) => {
      const known = new Map<string, object>()
      return {
        async listEvents(query) {
          const page = await driver.listEvents(query)
          return {
            ...page,
            items: page.items.map((item) => {
              known.set(item.id, item.object)
              return item
            }),
          }
        },
        async claimEvents(command) {
          const claimed = await driver.claimEvents(command)
          return claimed.map((event) => ({
            ...event,
            object: (known.get(event.id) as typeof event.object | undefined) ?? event.object,
          }))
        },
      }
    }),
    'events: are copies that callers may change',
  ],
  'records a release': [
    overDriver((driver) => {
      let released = 0
      return {
        async release(command) {
          const result = await driver.release(command)
          if (result.row) released++
          return result
        },
        async listEvents(query) {
          const page = await driver.listEvents(query)
          return released > 0 && page.items.length === 0 ? { ...page, next: 'released' } : page
        },
      }
    }),
    'events: record nothing of uploads, refusals, purges and what finds nothing',
  ],
  'claims events of an object in the order of clocks': [
    overDriver((driver) => {
      const unsettled: Awaited<ReturnType<NonNullable<typeof driver.claimEvents>>> = []
      return {
        async claimEvents(command) {
          const claimed = await driver.claimEvents(command)
          unsettled.push(...claimed)
          return claimed.map((event) => {
            const late = unsettled.filter(
              ({ object }) => object.key === event.object.key && object.bucket === event.object.bucket,
            )
            const previous = late.at(-2)
            return previous && previous.createdAt > event.createdAt
              ? { ...event, object: previous.object }
              : event
          })
        },
      }
    }),
    'events: keep the order of the changes of a key, even if clocks go back and the object is recreated',
  ],
}
