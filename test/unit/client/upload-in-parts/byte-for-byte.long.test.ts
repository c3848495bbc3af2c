import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { stubLocalStorage } from '../local-storage.js'
import { rejectionOf } from '../rejection.js'
import { fileOf, isStored, SIZE, type Content } from './contents.js'
import { useFakePauses, withoutPauses } from './fake-pauses.js'
import { bufferingProxy, lostAfter, lostBefore, startUploads } from './faulty-uploads.js'
import { PART } from './files.js'
import { COMPLETE, PUT } from './request-lines.js'

useFakePauses()
afterEach(() => void vi.unstubAllGlobals())

/** One call of `upload`, with the requests that don't get through. */
interface Step extends Content {
  readonly lost: 'nothing' | 'parts' | 'late parts' | 'all parts' | 'completion'
  readonly parts: readonly number[]
}

const content = {
  fills: fc.array(fc.constantFrom(0, 1, 2), { minLength: 3, maxLength: 3 }),
  edit: fc.option(
    fc.record({
      at: fc.oneof(fc.nat(SIZE - 8), fc.constantFrom(0, PART - 4, PART, SIZE - 8)),
      bytes: fc.uint8Array({ minLength: 1, maxLength: 8 }),
    }),
  ),
}

const step = fc.record<Step>({
  ...content,
  lost: fc.constantFrom('nothing', 'parts', 'late parts', 'late parts', 'all parts', 'completion'),
  parts: fc.subarray([1, 2, 3], { minLength: 1 }),
})

describe('a resumed upload', () => {
  it('stores the file of the last call, whatever earlier calls have left', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 3 }),
        fc.record(content),
        async (steps, last) => {
          stubLocalStorage()
          const uploads = startUploads()
          const { holdBack, deliver } = bufferingProxy()
          for (const { lost, parts, ...each } of [...steps, { ...last, lost: 'nothing', parts: [] }]) {
            const file = fileOf(each)
            const ofParts = new RegExp(`^PUT [${parts.join('')}]$`)
            if (lost === 'parts') uploads.inject(ofParts, lostBefore)
            if (lost === 'late parts') uploads.inject(ofParts, holdBack)
            if (lost === 'nothing') uploads.inject(COMPLETE, deliver)
            if (lost === 'all parts') uploads.inject(PUT, lostAfter)
            if (lost === 'completion') uploads.inject(COMPLETE, lostAfter)
            const call = withoutPauses(uploads.api.upload(file))
            // If only responses are lost, the server knows which parts have arrived.
            if (lost === 'nothing' || lost === 'all parts') {
              expect(await isStored(uploads, (await call).key, file)).toBe(true)
            } else expect(await rejectionOf(call)).toMatchObject({ code: 'NETWORK_ERROR' })
            uploads.clearFaults()
            // Nothing that is incomplete or mixed is confirmed in between.
            await uploads.api.settleUploads()
          }
        },
      ),
      { numRuns: 20 },
    )
  })
})
