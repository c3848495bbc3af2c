import express from 'express'
import { expressBinding } from '@svc/db/express'
import { describe } from 'vitest'
import { describeCheckedDoors } from './checked-doors.js'
import { listenForFile } from './listen-for-file.js'

describe('the doors to bytes that are checked, in Express', () => {
  describeCheckedDoors(async (s3) => (await listenForFile(express().use(expressBinding(s3)))) + s3.basePath)
})
