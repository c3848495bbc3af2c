import { expect } from 'vitest'
import { rejectionOf } from '../rejection.js'
import { hurried } from './hurried-clock.js'
import { lostBefore, type startUploads } from './uploads-in-trouble.js'

/** Begins an upload of a file and loses the network, with just these parts sent. */
export async function cutOff(uploads: ReturnType<typeof startUploads>, file: File, lost = /^PUT [23]$/) {
  uploads.trouble(lost, lostBefore)
  expect(await hurried(rejectionOf(uploads.api.upload(file)))).toMatchObject({ code: 'NETWORK_ERROR' })
  uploads.calm()
  uploads.log.length = 0
}
