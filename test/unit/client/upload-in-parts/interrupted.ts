import { expect } from 'vitest'
import { rejectionOf } from '../rejection.js'
import { withoutPauses } from './fake-pauses.js'
import { lostBefore, type startUploads } from './faulty-uploads.js'

/** Starts an upload whose requests matching `lost` fail, until it rejects. */
export async function interrupt(uploads: ReturnType<typeof startUploads>, file: File, lost = /^PUT [23]$/) {
  uploads.inject(lost, lostBefore)
  expect(await withoutPauses(rejectionOf(uploads.api.upload(file)))).toMatchObject({ code: 'NETWORK_ERROR' })
  uploads.clearFaults()
  uploads.log.length = 0
}
