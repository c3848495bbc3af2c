import { S3Client } from '@aws-sdk/client-s3'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { urlLifetimes } from '../../../../src/storage/s3/signing.js'

const NOW = new Date('2026-01-02T03:04:05.678Z')
const period = { signedAt: NOW, expiresAt: new Date(NOW.getTime() + 900_000) }

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: NOW }))
afterEach(() => void vi.useRealTimers())

/** Starts a process whose client has measured that the bucket's clock is ahead by this many milliseconds. */
function start(ahead: number) {
  const client = new S3Client({ region: 'us-east-1' })
  client.config.systemClockOffset = ahead
  let now = NOW
  const lifetimeOf = urlLifetimes(client, () => now)
  return {
    sign: () => lifetimeOf(period),
    moveClock: (by: number) => void (now = new Date(NOW.getTime() + by)),
  }
}

// The header that the SDK compares with has no milliseconds.
it.each([0, 7000, -7000])('is the same in every process if the bucket is ahead by %d ms', (ahead) => {
  const expected = start(ahead).sign()
  for (const lost of [1, 250, 499, 500, 501, 750, 999]) expect(start(ahead - lost).sign()).toEqual(expected)
  expect(start(ahead - 1000).sign()).not.toEqual(expected)
})

it.each([0, -499, -500, -999])(
  'stays the same while clocks differ by what the SDK tolerates (%d ms)',
  (ahead) => {
    const { sign, moveClock } = start(ahead)
    const first = sign()
    for (const by of [-300_000, 300_000]) {
      moveClock(by)
      expect(sign()).toEqual(first)
    }
    moveClock(400_000)
    expect(sign()).not.toEqual(first)
  },
)
