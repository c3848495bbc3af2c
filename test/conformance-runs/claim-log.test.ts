import { expect, it } from 'vitest'
import { ConformanceFailure } from '../conformance/failure.js'
import { ManualClock } from '../conformance/clock.js'
import { ClaimLog, type ClaimedEvent } from '../conformance/properties/claim-log.js'

const claimedAs = (claim: string): ClaimedEvent => ({ id: 'e1', claim, object: { key: 'object 0', size: 0 } })
const [MINE, THEIRS] = [claimedAs('mine'), claimedAs('theirs')]
const ALL = ['e1']

it('accepts that an event is settled while the call that retries it goes on with others', () => {
  const log = new ClaimLog(new ManualClock())
  log.claimed(log.start(0, 1), [MINE])
  const retrying = log.settling(0, [MINE], true)
  log.claimed(log.start(1, 1), [THEIRS])
  log.settled(log.settling(1, [THEIRS], false), ALL)
  log.settled(retrying, ALL)
  log.checkComplete([1])
})

it.each([true, false])('refuses that an event is settled again later (retry: %s)', (isRetry) => {
  const log = new ClaimLog(new ManualClock())
  log.claimed(log.start(0, 1), [MINE])
  log.settled(log.settling(0, [MINE], false), ALL)
  const again = log.settling(0, [MINE], isRetry)
  expect(() => log.settled(again, ALL)).toThrow(ConformanceFailure)
})

it('refuses that two calls settle an event at the same time', () => {
  const log = new ClaimLog(new ManualClock())
  log.claimed(log.start(0, 1), [MINE])
  const [one, other] = [log.settling(0, [MINE], false), log.settling(0, [MINE], false)]
  log.settled(one, ALL)
  expect(() => log.settled(other, ALL)).toThrow('settled twice')
})
