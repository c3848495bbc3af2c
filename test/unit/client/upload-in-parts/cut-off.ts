import { expect } from 'vitest'
import { rejectionOf } from '../rejection.js'
import { hurried } from './hurried-clock.js'
import { lostBefore, type startUploads } from './uploads-in-trouble.js'

/** Begins an upload of a file and loses the network, with all parts sent but these. */
export async function cutOff(uploads: ReturnType<typeof startUploads>, file: File, lost = /^PUT [23]$/) {
  uploads.trouble(lost, async (serve) => {
    // The pauses between the tries take no time here, and all would be over before another part has arrived.
    await uploads.othersAreThrough()
    return lostBefore(serve)
  })
  expect(await hurried(rejectionOf(uploads.api.upload(file)))).toMatchObject({ code: 'NETWORK_ERROR' })
  uploads.calm()
  uploads.log.length = 0
}
