import {
  SCRIPTS,
  driverCall,
  driverInput,
  driverResult,
  gap,
  overRecording,
  overTables,
  type Mutants,
} from './mutant.js'

const HALF_AN_HOUR = 30 * 60_000
const REMEMBERED =
  'reject: makes confirms of the attempt fail with the reason for an hour, whatever happens at the key'
const ANOTHER = 'reject: refuses a second verdict, and a verdict on another attempt or owner'
const FORGOTTEN = 'reject: is forgotten by a purge of the history of its owner'
const NOT_FOUND = { outcome: 'not-found' } as const

export const verdictMutants: Mutants = {
  'rejects attempts only within the time for their check': [
    driverCall('reject', async (command, driver) => {
      const row = await driver.findPending({ ...command, uploadId: null, scope: null })
      return row && row.expiresAt! <= command.now ? { row: null } : driver.reject(command)
    }),
    'reject: ends an arrived attempt, and returns its row',
    SCRIPTS.aboutChecks,
  ],
  'removes the object that a rejected attempt would replace': [
    driverCall('reject', async (command, driver) => {
      const result = await driver.reject(command)
      if (result.row) await driver.remove({ ...command, attemptId: null, mode: 'hard' })
      return result
    }),
    'reject: leaves the object that the attempt would replace',
    SCRIPTS.aboutChecks,
  ],
  'forgets rejections after half an hour': [
    overTables((tables, driver) => ({
      async confirm(command) {
        const result = await driver.confirm(command)
        if (result.outcome !== 'rejected' || command.id === null) return result
        const { rejectedAt } = tables.rejections.get(command.id)!
        return rejectedAt.getTime() + HALF_AN_HOUR <= command.now.getTime() ? NOT_FOUND : result
      },
    })),
    REMEMBERED,
  ],
  'reports rejections only while their key is free': [
    overTables((tables, driver) => ({
      async confirm(command) {
        const result = await driver.confirm(command)
        const { active, pending } = tables.liveRows(command)
        return result.outcome === 'rejected' && (active ?? pending) ? NOT_FOUND : result
      },
    })),
    REMEMBERED,
    SCRIPTS.aboutChecks,
  ],
  'reports rejections at any key and to any owner': [
    overTables((tables, driver) => ({
      async confirm(command) {
        const rejection = command.id === null ? null : tables.rejections.get(command.id)
        const { bucket, key } = rejection ?? command
        const result = await driver.confirm(command)
        if (!rejection || result.outcome !== 'not-found') return result
        return driver.confirm({ ...command, bucket, key, scope: rejection.scope })
      },
    })),
    REMEMBERED,
  ],
  'gives a reason for rejections without one': [
    driverResult('confirm', (result) =>
      result.outcome === 'rejected' ? { ...result, reason: result.reason ?? 'rejected' } : result,
    ),
    'reject: needs no reason',
  ],
  'rejects attempts of any owner': [
    driverInput('reject', (command) => ({ ...command, scope: null })),
    ANOTHER,
    SCRIPTS.aboutChecks,
  ],
  'rejects whichever attempt has arrived': [
    driverInput('reject', async (command, driver) => {
      const row = await driver.findPending({ ...command, id: null, uploadId: null, scope: null })
      return row?.arrivedAt ? { ...command, id: row.id } : command
    }),
    ANOTHER,
    SCRIPTS.aboutChecks,
  ],
  'rejects attempts that have not arrived': [
    driverCall('reject', async (command, driver) => {
      const { row } = await driver.reject(command)
      return row ? { row } : driver.release({ ...command, uploadId: null })
    }),
    'reject: refuses an attempt that has not arrived',
    SCRIPTS.aboutChecks,
  ],
  'remembers rejections beyond the purge of a history': [
    overTables((tables, driver) => ({
      async purgeDeleted(command) {
        tables.rejections.forgetUntil = () => {}
        const purged = driver.purgeDeleted(command)
        Reflect.deleteProperty(tables.rejections, 'forgetUntil')
        return purged
      },
    })),
    FORGOTTEN,
  ],
  'forgets the rejections of all owners with the history of one': [
    overTables((tables, driver) => ({
      async purgeDeleted(command) {
        tables.rejections.forgetUntil(command.before, null)
        return driver.purgeDeleted(command)
      },
    })),
    FORGOTTEN,
  ],

  'records arrivals without the active row': [
    overRecording((change, now) => [
      [change.type === 'arrived' ? { ...change, previous: null } : change, now],
    ]),
    'events of checked uploads: are arrived, with the active row, and activated once accepted',
    SCRIPTS.aboutChecks,
  ],
  'records rejections without their reason': [
    overRecording((change, now) => [
      [change.type === 'rejected' ? { ...change, reason: null } : change, now],
    ]),
    'events of checked uploads: are rejected, with the reason or null',
    SCRIPTS.aboutChecks,
  ],
  'records that an attempt was rejected when its owner ends it': [
    overTables(({ events }, driver) => ({
      async release(command) {
        const result = await driver.release(command)
        const object = result.row
        const verdict = { type: 'rejected', previous: null, reason: null } as const
        if (object?.arrivedAt) events.record({ ...verdict, object }, command.now)
        return result
      },
    })),
    'events of checked uploads: are none where an arrived attempt ends otherwise',
    SCRIPTS.aboutChecks,
  ],

  'rejects attempts that were decided since they were looked up': [
    driverCall('reject', async (command, driver) => {
      const { scope } = command
      const row = await driver.findPending({ ...command, uploadId: null, scope: null })
      await gap()
      const result = await driver.reject(command)
      const isNamed = row?.arrivedAt && (scope === null || scope === row.scope)
      return isNamed ? { row: result.row ?? row } : result
    }),
    'verdicts and ends at the same time: give an attempt one verdict',
    SCRIPTS.overArrived,
  ],
}
