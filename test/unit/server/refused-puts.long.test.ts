import { expect, it } from 'vitest'
import { MINUTE } from '../../conformance/clock.js'
import * as inParts from './multipart/in-parts.js'
import { startService, type Caller } from './service.js'

const failure = { status: 403, message: 'AccessDenied' }

/** Begins an upload. Returns the request in which a client says that the storage has refused its bytes. */
async function begin(caller: Caller): Promise<() => Promise<Response>> {
  const parts = await inParts.begun(caller)
  return () => caller.send('POST', '/multipart/list', { ...inParts.referenceOf(parts), failure })
}

it('refused PUTs are remembered for the last 1000 attempts', async () => {
  const { as, reported, clock } = startService()
  const first = await begin(as('user:0'))
  const second = await begin(as('user:0'))
  await first()
  await second()
  for (let index = 2; index < 1001; index++) await (await begin(as(`user:${index}`)))()
  // All within a minute, which would let a scope exceed its number.
  await first()
  expect(reported).toHaveLength(1001)
  clock.advance(MINUTE)
  await (
    await begin(as('user:1'))
  )()
  await first()
  await second()
  expect(reported).toHaveLength(1004)
})
